"""What a person reads of a file of coefficients that was just made: values, ranges, sources and errors."""

from rich.console import Group, RenderableType
from rich.text import Text

from sim.hardware.coefficient_file import CoefficientFile
from sim.hardware.coefficient_toml import shown
from sim.show.text.page_parts import heading, table


def render(content: CoefficientFile) -> RenderableType:
    """Return the coefficients, the errors, and some steps that they give."""
    coefficients = table("Coefficient", "value", "range", "source")
    for name, entry in content.step.items():
        low, high = (shown(name, end) for end in entry.range)
        coefficients.add_row(name, shown(name, entry.value), f"{low} to {high}", entry.source)
    errors = table("Held out", "steps", "mean", "median", "largest")
    for one in content.held_out:
        sizes = [one.mape, one.median, one.largest]
        errors.add_row(one.quantity, str(one.n), *("" if size is None else f"{size:.1%}" for size in sizes))
    title = heading(f"{content.model} on {content.gpu}", content.summary)
    return Group(title, Text(), coefficients, Text(), errors, Text(), _steps(content))


def _steps(content: CoefficientFile) -> RenderableType:
    law = content.law
    steps = table("Step", "ms")
    for name, time_s in {
        "prompt of 8,192 tokens": law.step_s([(8192, 0)], 0, 0),
        "chunk of 8,192 on 131,072": law.step_s([(8192, 131_072)], 0, 0),
        **{f"decode of {n} at 4,096": law.step_s([], n, 4096 * n) for n in (1, 8, 32, 128)},
    }.items():
        steps.add_row(name, f"{time_s * 1e3:.1f}")
    return steps
