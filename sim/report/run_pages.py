"""Where the pages of single runs lie, as links on other pages, and how to make those that are not there."""

from os.path import relpath
from pathlib import Path
from shlex import join
from typing import NamedTuple
from urllib.parse import quote

from sim.runs.comparison import Comparison
from sim.runs.run import Run
from sim.runs.saved import SETTINGS, SUMMARY

PAGE = "report.html"
"""The page of a run, in its folder."""
RUNS = "runs"
"""The folder in that of a sweep or comparison for runs with their tables, where somebody makes them."""


class RunPage(NamedTuple):
    """A run, and its page."""

    label: str
    """Which of a point's runs it is: "seed 0"."""
    address: str
    """Of its page; "" if there is none."""
    commands: list[str]
    """That make the page, if there is none."""


def address(page: Path, seen_from: Path) -> str:
    """Return the address of a page from another one; "" if there is no such file yet."""
    if not page.is_file():
        return ""
    return quote(Path(relpath(page.resolve(), seen_from.resolve().parent)).as_posix())


def run_page(comparison: Comparison, run: Run, folder: Path, seen_from: Path) -> RunPage:
    """Return the page of a run of a sweep or comparison that a folder holds, as a page there links it."""
    settings = comparison.settings_file(run)
    draw = f", draw {run.draw}" if run.draw else ""
    name = f"{settings.removesuffix('.toml')}_seed-{run.seed}{f'_draw-{run.draw}' if run.draw else ''}"
    kept = folder / RUNS / name
    found = address(kept / PAGE, seen_from)
    commands = [] if found else [join(["sim", "report", str(kept)])]
    if not found and not (kept / SUMMARY).is_file():
        options = ["--set", f"seed={run.seed}", *(["--set", f"timing.draw={run.draw}"] if run.draw else [])]
        line = ["sim", "run", str(folder / SETTINGS / settings), *options, "--out", str(kept)]
        commands.insert(0, join(line))
    return RunPage(f"seed {run.seed}{draw}", found, commands)
