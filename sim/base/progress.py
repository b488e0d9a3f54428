"""How far a run is: a bar on a terminal, nothing anywhere else."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

OnProgress = Callable[[float, int, int], None]
"""Takes simulated seconds, requests that ended, and requests in all."""

OnBytes = Callable[[int], None]
"""Takes how many bytes more were read."""
LONG_BYTES = 64 << 20
"""What takes long enough to read for a bar."""

OnOneMore = Callable[[], None]
"""Says that one more of several is done."""


@contextmanager
def count_bar(label: str, total: int | None) -> Iterator[OnOneMore]:
    """Yield what counts runs that ended: a bar on stderr if that is a terminal, else nothing to be seen.

    `total` is None if nobody knows how many there will be. What is printed to stderr meanwhile stands above
    the bar.
    """
    if total == 0 or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("runs,"),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("gone,"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total, rate="")

        def one_more() -> None:
            bar.advance(task)
            runs_per_s = bar.tasks[task].speed
            bar.update(task, rate=f"{60 * runs_per_s:.3g} a minute," if runs_per_s else "")

        yield one_more


@contextmanager
def progress_bar(label: str) -> Iterator[OnProgress | None]:
    """Yield what a run reports its progress to: a bar on stderr if that is a terminal, else None."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[state]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None, state="")

        def show(simulated_s: float, done: int, total: int) -> None:
            elapsed_s = bar.tasks[task].elapsed or 0.0
            rate = f", {simulated_s / elapsed_s:,.0f} x real time" if elapsed_s > 0 else ""
            state = f"{done:,}/{total:,} requests, {simulated_s:,.0f} s simulated{rate}"
            bar.update(task, completed=done, total=total, state=state)

        yield show


@contextmanager
def byte_bar(label: str, files: Sequence[Path]) -> Iterator[OnBytes]:
    """Yield what counts bytes read of files: a bar on stderr if that is a terminal and they are long."""
    size = sum(file.stat().st_size for file in files if file.is_file())
    if size < LONG_BYTES or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TransferSpeedColumn,
    )

    # What is compressed grows by an unknown factor: then nobody knows how much there is.
    total = None if any(file.suffix == ".gz" for file in files) else size
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        waiting = 0

        def more(n: int) -> None:
            nonlocal waiting
            waiting += n
            if waiting > 1 << 20:
                bar.advance(task, waiting)
                waiting = 0

        yield more
