"""Runs for commands that decide on the next ones by what the last ones came to."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sim.base.progress import count_bar
from sim.experiments.jobs.engine import local
from sim.experiments.jobs.execute import Runner, execute
from sim.runs.journal import journal_in


@contextmanager
def runner(out: Path | None, processes: int | None, label: str, expected: int | None) -> Iterator[Runner]:
    """Yield what makes runs in processes of this machine and, with a folder, keeps them in its journal.

    A bar on a terminal counts them, against the number that is expected if there is one.

    Raises:
        InputError: the folder cannot be used.

    """
    engine = local(processes)
    with journal_in(out, expected=expected) as journal, count_bar(label, expected) as on_one_more:
        yield lambda jobs: execute(jobs, engine, lambda _: on_one_more(), journal)
