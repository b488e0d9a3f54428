"""What makes times of several runs unlike: a roofline, the last resort, beside times that were measured."""

import re
from collections.abc import Iterable, Iterator

from sim.runs.run import Run

_NOTE = re.compile(r"step times(?: of decode workers)? \(([^)]+)\): ")
_MOST_NAMED = 4


def unlike_times(named: Iterable[tuple[str, Run]]) -> Iterator[str]:
    """Yield a warning if some runs had to do with a roofline and others not; runs with what they are called.

    Who asks for a roofline by `timing.preset` knows.
    """
    rough: dict[str, None] = {}
    others: set[str] = set()
    for name, run in named:
        origins = {found[1] for note in run.notes if (found := _NOTE.match(note))}
        if "roofline" in origins and run.value("timing.preset") is None:
            rough[name] = None
            origins.remove("roofline")
        others |= origins
    if rough and others:
        names = list(rough)
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        yield (
            f"step times of {', '.join(names[:_MOST_NAMED])}{more} are a roofline, without measurement: do "
            f"not rank them with the others ({', '.join(sorted(others))}); timing.preset = "
            '"aiconfigurator" for all of them, or "roofline", makes them alike'
        )
