"""The page about two runs: headline numbers and their differences, and both in each chart."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import tomlkit

from sim.report.causes import legend
from sim.report.latencies import latencies_of_two
from sim.report.templates import sectioned
from sim.report.two import MARKS, differing_settings, number_table
from sim.report.two_charts import causes_of_two, recomputation_by_turn, session_table
from sim.results.labels import CAUSE_LABELS
from sim.results.phases import counted_rows, left_out_lines
from sim.results.refusals import refusals
from sim.show.text import summary as text
from sim.show.text.versions import rules_text

if TYPE_CHECKING:
    from sim.simulation.result import RunResult

_SECTIONS = (
    ("numbers", "Numbers side by side", "Numbers"),
    ("settings", "Settings that differ", "Settings"),
    ("latencies", "Latencies", "Latencies"),
    ("causes", "Recomputed tokens, by cause", "Recomputed tokens"),
    ("locality", "Locality of sessions", "Sessions"),
    ("notes", "Notes", "Notes"),
)


class About(NamedTuple):
    """One of the two runs, for the head of the page."""

    mark: str
    name: str
    title: str
    lines: Sequence[str]
    style: str
    """Of its line in charts."""
    page: str
    """Address of its own page; "" if there is none."""


def render_two(first: "RunResult", second: "RunResult", pages: Sequence[str] = ("", "")) -> str:
    """Return two runs as one HTML page that needs nothing else; `pages` are addresses of their own pages."""
    runs = (first, second)
    summaries = [run.to_dict() for run in runs]
    requests = [counted_rows(run.rows.frame("requests")) for run in runs]
    sessions, more_sessions = session_table(requests)
    settings = [tomlkit.parse(run.scenario.to_toml()).unwrap() for run in runs]
    return sectioned(
        "two",
        _SECTIONS,
        styles=[],
        scripts=["sort.js"],
        title=f"{first.name} and {second.name}",
        about=[
            About(mark, run.name, run.title, _lines(run, summary), style, page)
            for mark, run, summary, style, page in zip(
                MARKS, runs, summaries, ("first", "second"), pages, strict=True
            )
        ],
        numbers=number_table(*summaries),
        settings=differing_settings(*settings),
        latencies=latencies_of_two([run.rows for run in runs], summaries),
        causes=_causes(summaries),
        by_turn=recomputation_by_turn(requests),
        sessions=sessions,
        more_sessions=more_sessions,
        notes={mark: _notes(run, summary) for mark, run, summary in zip(MARKS, runs, summaries, strict=True)},
    )


def _causes(summaries: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the chart and its legend; None if nothing was recomputed in either."""
    chart = causes_of_two(summaries)
    found = [cause.name for summary in summaries for cause in legend(summary["prefill"]["by_cause"])]
    return {"chart": chart, "causes": {name: CAUSE_LABELS[name] for name in found}} if chart else None


def _lines(run: "RunResult", summary: Mapping[str, Any]) -> list[str]:
    rules = rules_text([summary])
    head = [text.requests_line(summary).plain, *left_out_lines(summary), *refusals([summary])]
    return [*head, f"seed {run.scenario.seed}{f'; {rules}' if rules else ''}"]


def _notes(run: "RunResult", summary: Mapping[str, Any]) -> list[str]:
    return [*(f"! {warning}" for warning in text.warnings_of(summary)), *run.notes]
