"""What a person reads after a calibration with kernel tables."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from sim.base import words
from sim.base.words import exactly, format_seconds
from sim.calibration.kernel_file import KernelCalibration, KernelFit
from sim.show.text.page_parts import footnotes, heading, table

_RATES = {
    "flop_per_s": ("", 1e12, "TFLOP/s"),
    "bytes_per_s": ("", 1e12, "TB/s"),
    "launch_s": ("launch ", 1e-6, "us"),
    "alone_s_per_token": ("a prompt alone ", 1e-9, "ns a token"),
    "full_s_per_token_and_head": ("full ", 1e-9, "ns a token and head"),
    "s_per_head": ("", 1e-9, "ns a head"),
    "s_per_channel": ("", 1e-12, "ps a channel"),
    "p": ("p ", 1.0, ""),
}
"""Name of a rate: what stands before it, its unit, and what stands behind it."""


def render_kernels(found: KernelCalibration) -> RenderableType:
    """Return fits, their errors on what was held out, and the coefficients."""
    content = found.content
    return Group(
        heading(f"{content.model} on {content.gpu}", content.summary),
        Text(),
        _errors(found.fits),
        Text(),
        _rates(found.fits),
        Text(),
        _coefficients(found),
        footnotes(
            ["held out: shapes to test a fit without them, the model's own and a quarter of the others"],
            ["MAPE, median: absolute relative errors on those; own: their mean on the model's own shapes"],
            ["rates and coefficients: fitted to all shapes"],
            [
                f"95 % interval: {exactly(_draws(found), 'draw')} of shapes, the model's kernels as far "
                "off their law "
                "as some shape of the table is; what whole steps add to kernels is not in it"
            ],
        ),
    )


def head_lines(found: KernelCalibration) -> list[str]:
    """Return the comment on top of the file."""
    content = found.content
    return [
        f"Step-time coefficients of {content.model} on {content.gpu}: {content.summary}.",
        "Made by `sim calibrate kernels`; README.md says how, and what each coefficient multiplies.",
        "",
        *(f"{one.kernel.name} (vLLM {one.kernel.version}): {rates_text(one)}" for one in found.fits),
    ]


def rates_text(one: KernelFit) -> str:
    """Return the rates of a kernel in a line."""
    texts = []
    for name, value in one.rates.items():
        before, scale, unit = _RATES[name]
        texts.append(f"{before}{words.number(value / scale)} {unit}".strip())
    return ", ".join(texts)


def _draws(found: KernelCalibration) -> int:
    return len(next(iter(found.content.draws.values())))


def _errors(fits: Sequence[KernelFit]) -> RenderableType:
    rows = table("Kernel", "vLLM", "rows", "shapes", "held out", "MAPE", "median", "own")
    for one in fits:
        errors = one.errors
        rows.add_row(
            one.kernel.name,
            one.kernel.version,
            words.count(len(one.kernel.measured_s)),
            words.count(one.kernel.shapes),
            words.count(errors.shapes),
            *map(words.percent, (errors.mape, errors.median, errors.own)),
        )
    return rows


def _rates(fits: Sequence[KernelFit]) -> RenderableType:
    rows = table("Kernel", "achieved")
    rows.columns[1].justify, rows.columns[1].no_wrap = "left", False
    for one in fits:
        rows.add_row(one.kernel.name, rates_text(one))
    return rows


def _coefficients(found: KernelCalibration) -> RenderableType:
    rows = table("Coefficient", "value", "95 % interval", "made of")
    rows.columns[3].justify, rows.columns[3].no_wrap = "left", False
    for name, entry in found.content.step.items():
        shown = words.number if name == "smooth_max_p" else format_seconds
        low, high = entry.range
        rows.add_row(name, shown(entry.value), f"{shown(low)} to {shown(high)}", entry.source)
    return rows
