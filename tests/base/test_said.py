"""No source says a number by hand where `sim.base.words` has a way: a lint over f-strings."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import sim

SOURCES = Path(sim.__file__).parent
THINGS = re.compile(
    r" (?:(?:prompt|output|KV|required|more|other) )?(?:requests|runs|seeds|workers|sessions|tokens|blocks"
    r"|files|lines|GPUs|draws|decisions|prompts|turns|sets|layouts|settings|bytes|layers|pulls|nodes|points|rows"
    r"|samples|groups|policies|candidates)\b(?!/)"
)
NUMBER_AND_PLURAL = re.compile(r"\{(?:words\.count\()?([^{}]+?)\)?(?::,)?\} \{plural\(\1, ")
COUNTS = re.compile(r"(len|words\.count|count)\(")
UNIT = re.compile(r" ?[KMGT]?i?B\b")
EXEMPT = {"checks", "words.py"}
"""Messages about faults of the simulator, which are for us; and the one place itself."""


def said_by_hand(source: str) -> Iterator[tuple[int, str]]:
    """Yield the lines on which a count stands before its noun or unit, or a number before its own plural."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.JoinedStr):
            continue
        if NUMBER_AND_PLURAL.search(ast.unparse(node)):
            yield node.lineno, ast.unparse(node)
        for value, after in zip(node.values, node.values[1:], strict=False):
            if isinstance(value, ast.FormattedValue) and isinstance(after, ast.Constant):
                asked, text = ast.unparse(value.value), str(after.value)
                if COUNTS.match(asked) and (THINGS.match(text) or UNIT.match(text)):
                    yield value.lineno, f"{asked}{text}"


def test_the_lint_finds_what_people_write() -> None:
    for text in (
        "{len(runs)} runs",
        "{words.count(n)} prompt tokens",
        "{words.count(n)}B",
        "{n} {plural(n, 'run')}",
    ):
        assert list(said_by_hand(f'x = f"{text}"')), text
    for text in (
        "{exactly(len(runs), 'run')}",
        "{rate} requests/s",
        "{words.data(n)}",
        "{len(runs)} of them",
    ):
        assert not list(said_by_hand(f'x = f"{text}"')), text


def test_numbers_of_things_are_said_by_words() -> None:
    found = [
        f"{path.relative_to(SOURCES)}:{line}: {text}"
        for path in sorted(SOURCES.rglob("*.py"))
        if not EXEMPT & set(path.relative_to(SOURCES).parts)
        for line, text in said_by_hand(path.read_text())
    ]
    assert not found, "\n".join(found)
