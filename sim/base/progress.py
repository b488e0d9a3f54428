"""How far work is: one bar on a terminal, nothing anywhere else.

What takes long inside of what takes long has the bar meanwhile. Printed lines stand above it.
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sim.base.words import about, data, exactly

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

OnProgress = Callable[[float, int, int], None]
"""Takes simulated seconds, requests that ended, and requests in all."""

OnBytes = Callable[[int], None]
"""Takes how many bytes more were read."""
LONG_BYTES = 64 << 20
"""What takes long enough to read for a bar."""

OnOneMore = Callable[[], None]
"""Says that one more of several is done."""

_SOON_S = 2.0
"""How long work goes on before anybody can say what is left."""
_BURST_S = 0.01
"""What comes so fast one after the other at the start was there already: an earlier call had kept it."""
_BAR_CELLS, _LEAST_TEXT = 30, 70
_EACH_S = 0.1
"""Between two texts of one run, which tells of thousands of requests a second."""


class _Shown:
    """What this process shows: the bar, its tasks from the outermost to the innermost, whether it may."""

    bar: "Progress | None" = None
    tasks: "tuple[TaskID, ...]" = ()
    quiet = False


def be_quiet() -> None:
    """Show nothing in this process: another one has the terminal's bar."""
    _Shown.quiet = True


@contextmanager
def count_bar(label: str, total: int | None, noun: str = "run") -> Iterator[OnOneMore]:
    """Yield what counts runs that ended, or something else: a bar on a terminal, else nothing to be seen.

    `total` is None if nobody knows how many there will be.
    """
    if total == 0 or not _is_seen():
        yield lambda: None
        return
    done, pace = 0, Pace()
    known = f"/{total:,}" if total else ""

    def one_more() -> None:
        nonlocal done
        done += 1
        pace.tick()
        said = f"{done:,}{known} {exactly(total or done, noun).partition(' ')[2]}"
        show(done, total, [said, *pace.left((total or 0) - done), *pace.rate()])

    with _bar(label, total) as show:
        show(0, total, [f"0{known} {noun}s"])
        yield one_more


@contextmanager
def progress_bar(label: str) -> Iterator[OnProgress | None]:
    """Yield what a run reports its progress to: a bar on a terminal, else None."""
    if not _is_seen():
        yield None
        return
    begun_s: float | None = None
    begun, shown_s = 0, 0.0

    def report(simulated_s: float, done: int, total: int) -> None:
        nonlocal begun_s, begun, shown_s
        now_s = time.monotonic()
        if begun_s is None:
            # What came before, such as reading a trace, says nothing of what is left.
            begun_s, begun = now_s, done
        if now_s - shown_s < _EACH_S and done < total:
            return
        shown_s, elapsed_s = now_s, now_s - begun_s
        parts = [f"{done:,}/{exactly(total, 'request')}", f"{100 * done / total:.0f} %" if total else ""]
        if elapsed_s > _SOON_S and begun < done < total:
            parts.append(f"{about(elapsed_s / (done - begun) * (total - done))} left")
        parts.append(f"{simulated_s:,.0f} s simulated")
        if elapsed_s > _EACH_S:
            parts.append(f"{simulated_s / elapsed_s:,.0f} x real time")
        show(done, total, list(filter(None, parts)))

    with _bar(label, None) as show:
        yield report


@contextmanager
def byte_bar(label: str, files: Sequence[Path]) -> Iterator[OnBytes]:
    """Yield what counts bytes read of files: a bar on a terminal if they are long."""
    size = sum(file.stat().st_size for file in files if file.is_file())
    if size < LONG_BYTES or not _is_seen():
        yield lambda _: None
        return
    # What is compressed grows by an unknown factor: then nobody knows how much there is.
    total = None if any(file.suffix == ".gz" for file in files) else size
    begun_s, done, waiting = time.monotonic(), 0, 0

    def more(n: int) -> None:
        nonlocal done, waiting
        waiting += n
        if waiting > 1 << 20:
            done, waiting = done + waiting, 0
            rate = done / max(time.monotonic() - begun_s, 1e-3)
            said = f"{data(done)} of {data(total)}" if total else data(done)
            show(done, total, [said, f"{data(rate)}/s"])

    with _bar(label, total) as show:
        yield more


class Pace:
    """How fast things end, without those that were there already."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._begun_s = self._last_s = now()
        self._done = 0

    def tick(self) -> None:
        """Count one that ended."""
        now_s = self._now()
        if not self._done and now_s - self._last_s < _BURST_S:
            self._begun_s = self._last_s = now_s
            return
        self._done += 1
        self._last_s = now_s

    def rate(self) -> list[str]:
        """Return how many end in a time, if that is known: "3.1 a minute"."""
        elapsed_s = self._last_s - self._begun_s
        if not self._done or elapsed_s <= 0:
            return []
        per_s = self._done / elapsed_s
        return [f"{per_s:.3g} a second" if per_s >= 1 else f"{60 * per_s:.3g} a minute"]

    def left(self, n: int) -> list[str]:
        """Return how long so many more take, if anything can be said yet: "about 40 s left"."""
        elapsed_s = self._last_s - self._begun_s
        if n <= 0 or not self._done or elapsed_s < _SOON_S:
            return []
        return [f"{about(elapsed_s / self._done * n)} left"]


def _is_seen() -> bool:
    return not _Shown.quiet and sys.stderr.isatty()


@contextmanager
def _bar(label: str, total: int | None) -> Iterator[Callable[[int, int | None, list[str]], None]]:
    """Yield what shows how much of how much is done, and a text of as many parts as there is room for."""
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415

    outer = _Shown.bar
    if outer is None:
        console = Console(stderr=True)
        drawn = console.width >= _BAR_CELLS + _LEAST_TEXT
        columns = (
            TextColumn("{task.description}", markup=False),
            *([BarColumn(_BAR_CELLS)] if drawn else []),
            TextColumn("{task.fields[state]}", markup=False),
        )
        bar = Progress(*columns, console=console, transient=True)
    else:
        bar = outer
    room = bar.console.width - len(label) - 2 - (_BAR_CELLS + 1 if len(bar.columns) > 2 else 0)
    before = _Shown.tasks
    for hidden in before:
        bar.update(hidden, visible=False)
    task = bar.add_task(label, total=total, state="starting")
    _Shown.bar, _Shown.tasks = bar, (*before, task)

    def show(done: int, of: int | None, parts: list[str]) -> None:
        while len(parts) > 1 and len(", ".join(parts)) > room:
            parts = parts[:-1]
        bar.update(task, completed=done, total=of, state=", ".join(parts))

    try:
        if outer is None:
            bar.start()
        yield show
    finally:
        _Shown.bar, _Shown.tasks = outer, before
        if outer is None:
            bar.stop()
        else:
            bar.remove_task(task)
            bar.update(before[-1], visible=True)
