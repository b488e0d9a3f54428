"""`python -m tests.traces.formats_table` prints the tables of docs/traces.md from what is there."""

from importlib import import_module

from sim.workload import formats
from sim.workload.formats import FORMATS, Format, foreign
from sim.workload.formats.log import LogFormat
from sim.workload.formats.records import RecordFormat
from sim.workload.formats.row import RowFormat

ENDS = {"ceil": "one for the partial end", "floor": "full chunks alone", "never": "the last is never reused"}


def read_table() -> str:
    """Return a row for each format that is read."""
    lines = ["| `format` | what it is | identity of prompts | answers |", "|---|---|---|---|"]
    lines += [
        f"| `{name}` | {_what(each)} | {_identity(each)} | {_answers(each)} |"
        for name, each in FORMATS.items()
    ]
    return "\n".join(lines)


def refused_table() -> str:
    """Return a row for each format that is told, and not read."""
    lines = ["| refused | what to do instead |", "|---|---|"]
    ways = [(each.name, each.way_out.partition("; rows that are read")[0]) for each in foreign.FORMATS]
    return "\n".join([*lines, *(f"| {name} | {way.replace('|', chr(92) + '|')} |" for name, way in ways)])


def _what(each: Format) -> str:
    names = {module.FORMAT.name: module for module in _modules() if hasattr(module, "FORMAT")}
    text = names[each.name].__doc__ or ""
    return " ".join(text.partition("\n\n")[0].split()).removesuffix(".").replace("|", "\\|")


def _modules() -> list[object]:
    from pkgutil import iter_modules

    return [import_module(f"{formats.__name__}.{found.name}") for found in iter_modules(formats.__path__)]


def _identity(each: Format) -> str:
    if isinstance(each, LogFormat):
        return "between bounds, from counts: `append` and `provider`"
    if isinstance(each, RecordFormat):
        return f"exact, hash ids: {ENDS[each.ends]}"
    return "exact, hash ids of what a turn adds" if each.deltas else "exact, hash ids of the whole prompt"


def _answers(each: Format) -> str:
    return "fresh" if isinstance(each, RowFormat) else each.answers


if __name__ == "__main__":
    print(read_table(), refused_table(), sep="\n\n")
