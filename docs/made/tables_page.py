"""The page of the tables that a run keeps, from `sim.results.tables`."""

from docs.made.markdown_text import anchored, keys, sentence
from sim.results.tables import SOMETIMES, TABLES, Column

TOP = """# Tables of a run

`sim run agg8 --out results` keeps these as Parquet, and `run("agg8").requests` is the same as a data frame.
Null means that nothing was measured, or that it never came to it; it is never written as 0. Times are
seconds of simulated time since the start of the run, except durations, which say so.
"""
_SAYS = {
    "requests": "A row a request.",
    "decisions": "A row for every worker that the router could have chosen, at each decision.",
    "workers": "A row whenever a worker's levels are looked at (`output.worker_interval_s`).",
    "links": "A row a link and direction.",
    "itl": "Gaps between tokens, pooled over all requests: a row a length.",
}


def page() -> str:
    """Return the page."""
    text = [TOP]
    for name, columns in TABLES.items():
        text += [f"\n## {name}\n\n{_SAYS.get(name, '')}\n\n", _rows(name, columns)]
        if sometimes := SOMETIMES.get(name):
            text += ["\nColumns that only some runs have:\n\n", _rows(name, sometimes)]
    return "".join(text)


def _rows(name: str, columns: tuple[Column, ...]) -> str:
    rows = ([anchored(it.name, f"{name}.{it.name}"), it.kind, it.unit, sentence(it.about)] for it in columns)
    return keys("columns", ["column", "kind", "unit", "what it is"], rows)
