"""The page about a sweep or a comparison: settings against numbers, and the way to each run."""

from pathlib import Path

import tomlkit

from sim.base.whole_file import write_text
from sim.base.words import exactly
from sim.report.many import many
from sim.report.many_charts import number_charts, series
from sim.report.moved import moved_table
from sim.report.templates import sectioned
from sim.results.quantities import select_or
from sim.runs.comparison import Comparison
from sim.runs.paired import LEAST_PAIRS
from sim.runs.rule_effects import is_explained
from sim.runs.saved import COMPARISON, SETTINGS, SWEEP, read_comparison
from sim.runs.sweep import SHOWN, Sweep
from sim.runs.unlike import warnings_of, with_late, with_lost
from sim.show.text.common_notes import common_notes
from sim.show.text.versions import rules_text

_ALSO = (
    "by_turn.first.ttft_s.p95",
    "by_turn.later.ttft_s.p95",
    "prefill.ideal_hit_share",
    "prefill.hit_share",
)
_SECTIONS = (
    ("points", "Settings and numbers", "Table"),
    ("moved", "What moved them", "Rules"),
    ("charts", "Numbers of all rows", "Charts"),
    ("pages", "Pages of single runs", "Pages"),
    ("notes", "Notes", "Notes"),
)


def holds_many(folder: Path) -> bool:
    """Whether a folder holds a sweep or a comparison."""
    return any((folder / name).is_file() for name in (SWEEP, COMPARISON))


def keep_settings(comparison: Comparison, folder: Path) -> None:
    """Write the scenario of each point where a comparison has it, so that runs of a sweep can be made again.

    Raises:
        InputError: a file cannot be written.

    """
    for name, run in {comparison.settings_file(run): run for run in comparison.runs}.items():
        file = folder / SETTINGS / name
        if not file.is_file():
            file.parent.mkdir(exist_ok=True)
            write_text(file, tomlkit.dumps(run.settings))


def render_many(comparison: Comparison, folder: Path, page: Path) -> str:
    """Return what a folder holds as one HTML page that needs nothing else, to be kept as `page`.

    It links the pages of its runs, which lie in `folder / "runs"`, and says how to make those that do not.
    """
    metrics = with_late(
        comparison, with_lost(comparison, select_or((), (*SHOWN, *_ALSO), comparison.metrics))
    )
    found = many(comparison, metrics, folder, page)
    counts = f"{exactly(len(found.points), 'row')}, {exactly(len(comparison.runs), 'run')}"
    about = [f"{', '.join(comparison.scenarios)}: {counts}"]
    if rules := rules_text(comparison.summaries):
        about.append(f"Rules: {rules}.")
    if comparison.cases > 1:
        few = f"of fewer than {LEAST_PAIRS} runs from the least to the most"
        lines = "the band of 95 % of the draws" if comparison.has_bands else "its interval of 95 %"
        about.append(
            f"A number is the {comparison.middle} of a row's runs; a line in a chart is {lines}, {few}."
        )
    explained = is_explained(comparison)
    return sectioned(
        "many",
        [section for section in _SECTIONS if section[0] != "moved" or explained],
        styles=[],
        scripts=["sort.js"],
        title=folder.resolve().name,
        about=about,
        found=found,
        moved=moved_table(comparison) if explained else None,
        charts=number_charts(found),
        series=series(found),
        commands=[line for point in found.points for run in point.runs for line in run.commands],
        again=f"sim report {folder}",
        notes=[*(f"! {warning}" for warning in warnings_of(comparison)), *common_notes(comparison)],
    )


def render_folder(folder: Path, page: Path) -> str:
    """Return the page of a sweep or comparison that a folder holds, and keep its scenarios there.

    Raises:
        InputError: a file is damaged, or the scenarios cannot be written.

    """
    comparison = read_comparison(folder)
    comparison = comparison.shown() if isinstance(comparison, Sweep) else comparison
    keep_settings(comparison, folder)
    return render_many(comparison, folder, page)
