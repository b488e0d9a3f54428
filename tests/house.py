"""The house: which module of `sim` imports which, and in which order CONTRIBUTING.md puts the rooms."""

import ast
import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
Imports = Mapping[str, set[str]]
"""What each module imports, by dotted name; what a function imports or a type checker alone is among it."""


def sources() -> dict[str, str]:
    """Return the text of every module."""
    return {_name(file): file.read_text(encoding="utf-8") for file in (ROOT / "sim").rglob("*.py")}


def imports(modules: Mapping[str, str]) -> Imports:
    """Return what modules with these texts import of each other."""
    return {name: {*_imported(text, modules)} - {name} for name, text in modules.items()}


def rooms() -> list[str]:
    """Return the rooms in the order of the table in CONTRIBUTING.md; what hands them out is above all."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| \d+ \| (.+?) \|", text, flags=re.MULTILINE)
    return [*re.findall(r"`(\w+)(?:/|\.py)`", " ".join(cells)), "__init__"]


def room(module: str) -> str:
    """Return the room that a module stands in."""
    return module.split(".")[1] if "." in module else "__init__"


def circle(house: Imports) -> list[str]:
    """Return modules of which each imports the next and the last is the first; none if there are no such."""
    try:
        TopologicalSorter(house).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def upward(house: Imports, order: list[str]) -> list[str]:
    """Return the imports that do not run down the rooms in this order."""
    return [
        f"{module} imports {imported}"
        for module, found in house.items()
        for imported in sorted(found)
        if order.index(room(imported)) > order.index(room(module))
    ]


def _name(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(text: str, modules: Mapping[str, str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "an import is written in full"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield from (name for name in (whole, node.module) if name in modules)
