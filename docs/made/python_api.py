"""The page of what `from sim import ...` gives, from signatures and docstrings."""

import importlib
import inspect
import re
from typing import Any

import sim
from docs.made.markdown_text import paragraphs

TOP = """# Python

What `from sim import ...` gives, and the objects that come back. [From Python](../how-to/python.md) is an
example that uses most of it.
"""
OBJECTS = (
    "sim.simulation.result.RunResult",
    "sim.show.pictures.run.Pictures",
    "sim.experiments.comparison.Comparison",
    "sim.experiments.comparison.Sweep",
    "sim.traces.inspection.Inspection",
)
"""What functions return."""
_SECTION = re.compile(r"^(Args|Raises|Returns|Yields):\n((?:^    .*\n?|^\n)+)", re.MULTILINE)
_ENTRY = re.compile(r"^(\w+): ")


def page() -> str:
    """Return the page."""
    functions = "".join(_function(name, getattr(sim, name), "##") for name in sim.__all__)
    return TOP + functions + "".join(_object(name) for name in OBJECTS)


def _object(dotted: str) -> str:
    module, _, name = dotted.rpartition(".")
    kind = getattr(importlib.import_module(module), name)
    text = [f"\n## {name}\n\n", _doc(kind)]
    for member, value in _members(kind):
        if isinstance(value, property):
            text.append(f"\n### {name}.{member}\n\n{_doc(value)}")
        else:
            text.append(_function(f"{name}.{member}", value, "###"))
    return "".join(text)


def _members(kind: type) -> list[tuple[str, Any]]:
    own = {name: value for base in reversed(kind.__mro__[:-1]) for name, value in vars(base).items()}
    found = []
    for name, raw in own.items():
        value = raw.__func__ if isinstance(raw, classmethod | staticmethod) else raw
        described = isinstance(value, property) or inspect.isfunction(value)
        if described and not name.startswith("_") and inspect.getdoc(value):
            found.append((name, value))
    return found


def _function(name: str, function: Any, depth: str) -> str:
    return f"\n{depth} {name}\n\n```python\n{_signature(name, function)}\n```\n\n{_doc(function)}"


def _signature(name: str, function: Any) -> str:
    parameters = [
        each.replace(annotation=inspect.Parameter.empty)
        for each in inspect.signature(function).parameters.values()
        if each.name not in ("self", "cls")
    ]
    text = str(inspect.Signature(parameters))
    text = re.sub(r"<function [^>]*>", "...", text)
    if len(name) + len(text) > 90:
        text = "(\n    " + ",\n    ".join(_split(text[1:-1])) + ",\n)"
    return f"{name}{text}"


def _split(arguments: str) -> list[str]:
    """Return arguments one by one; commas within brackets and quotes do not part them."""
    found, depth = [""], 0
    for letter in arguments:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return [each.strip() for each in found]


def _doc(thing: Any) -> str:
    text = (inspect.getdoc(thing) or "") + "\n"
    return paragraphs(_SECTION.sub(_as_list, text))


def _as_list(section: re.Match[str]) -> str:
    lines = inspect.cleandoc(section[2]).splitlines()
    entries: list[str] = []
    for line in lines:
        if not line.startswith(" ") and (_ENTRY.match(line) or not entries):
            entries.append(_ENTRY.sub(r"`\1`: ", line))
        elif line.strip():
            entries[-1] += " " + line.strip()
    return f"**{section[1]}**\n\n" + "".join(f"- {entry}\n" for entry in entries) + "\n"
