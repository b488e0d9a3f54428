"""The page of the numbers of a summary: their names, what they are called, their units."""

import inspect
from itertools import groupby

from docs.made.markdown_text import anchored, code, paragraphs, table
from sim.results import metrics, prefill, quantities, refusals

TOP = """# Numbers of a summary

The names that `--metric`, `--slo`, `--constraint` and `--objective` take, and the keys of `summary.json`
and of `sim run --format json`. `run("agg8").numbers` has them by the same names. Units are SI; shares are
parts of one, and null stands where nothing was measured.
"""
DEFINED = {"Definitions": metrics, "Prefill": prefill, "Requests not completed": refusals}
"""Modules that define numbers in their docstrings."""
_DISTRIBUTION = ("n", "mean", "p50", "p90", "p95", "p99", "p99.9", "max")


def page() -> str:
    """Return the page."""
    text = [TOP]
    for title, module in DEFINED.items():
        # The first line says what a module is, and what follows defines its numbers.
        _, _, said = inspect.cleandoc(module.__doc__ or "").partition("\n\n")
        text.append(f"\n## {title}\n\n{paragraphs(said)}" if said else "")
    text.append("\n## By name\n\n")
    text.append(table(["number", "called", "unit"], _rows()))
    text.append(
        "\nRuns of a trace with tags have all latencies and counts of a tag under `by_tag.TAG`, runs that\n"
        "leave requests out have `left_out`, runs with faults, drafts or returned KV have tables of these.\n"
    )
    return "".join(text)


def _rows() -> list[list[str]]:
    names = [name for name in quantities.names_before_runs() if not name.startswith("schema")]
    rows = []
    for table_name, group in groupby(names, key=_distribution):
        members = list(group)
        if table_name:
            kinds = ", ".join(code(name.removeprefix(f"{table_name}.")) for name in members)
            called = quantities.label(members[-1]).removesuffix(" max").removesuffix(", max")
            rows.append([f"{anchored(table_name, table_name)}: {kinds}", called, _unit(members[-1])])
        else:
            rows += [[anchored(name, name), _label(name), _unit(name)] for name in members]
    return rows


def _distribution(name: str) -> str:
    """Return the distribution that a number is of, "" for others."""
    for kind in _DISTRIBUTION:
        table_name = name.removesuffix(f".{kind}")
        if table_name != name and table_name.endswith("_s"):
            return table_name
    return ""


def _label(name: str) -> str:
    label = quantities.label(name)
    return "" if label == name else label


def _unit(name: str) -> str:
    return "share" if quantities.unit(name) is quantities.SHARE else quantities.si_unit(name)
