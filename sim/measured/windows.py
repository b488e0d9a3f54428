"""The metrics of a run's processes, each over the run: from scrapes before and after it, or from a series."""

from collections.abc import Iterable
from pathlib import Path

from sim.measured.folder import Folder, RunFile, run_file
from sim.measured.formats.prometheus import Scrape, Window, read_scrape, read_series
from sim.measured.formats.run_toml import FileSettings
from sim.measured.roles import Role
from sim.measured.workers import FAMILIES, is_engine

FRONTEND = "frontend"
"""Target of the frontend's metrics."""
_MOMENTS = {"before": 0, None: 1, "after": 2}


def read_windows(paths: Iterable[Path]) -> dict[str, Window]:
    """Return metrics of files with Prometheus text, by targets as the names or the contents of the files say.

    Raises:
        InputError: a file cannot be read, or is not Prometheus text.

    """
    files = [run_file(path, FileSettings(role=Role.METRICS)) for path in paths]
    return {target: _window(scraped) for target, scraped in _by_target(files).items()}


def run_windows(folder: Folder, notes: list[str]) -> dict[str, Window]:
    """Return metrics by target, from scrapes before and after, else from the first and last of a series."""
    found: dict[str, Window] = {}
    for target, scraped in _by_target(folder.of(Role.METRICS)).items():
        if all(file.moment == "before" for file, _ in scraped):
            notes.append(f"{target}: scraped before the run only, which does not say what it did; left out")
        else:
            found[target] = _window(scraped)
    for file in [] if found else folder.of(Role.METRICS_SERIES):
        for target, series in read_series(file.path, FAMILIES).items():
            found.setdefault(target, Window(series))
    for target, window in found.items():
        if window.since_start:
            notes.append(f"{target}: one scrape only, so its counters are those since it was started")
        if is_engine(window) and window.restarted("vllm:prompt_tokens_total"):
            notes.append(f"{target}: was restarted during the run; its counters begin again at 0")
        if target != FRONTEND and not is_engine(window):
            notes.append(f"{target}: exports no counters of prompt tokens")
    return dict(sorted(found.items()))


def _by_target(files: Iterable[RunFile]) -> dict[str, list[tuple[RunFile, Scrape]]]:
    found: dict[str, list[tuple[RunFile, Scrape]]] = {}
    for file in files:
        scrape = read_scrape(file.path)
        target = file.target or (FRONTEND if scrape.has("dynamo_frontend_") else "engine")
        found.setdefault(target, []).append((file, scrape))
    return found


def _window(scraped: Iterable[tuple[RunFile, Scrape]]) -> Window:
    in_order = sorted(scraped, key=lambda row: _MOMENTS[row[0].moment])
    return Window([scrape for _, scrape in in_order])
