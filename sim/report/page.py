"""The page as a whole: what a saved run gives to each of its parts, and the template that joins them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sim.base import words
from sim.report.causes import cause_charts, legend
from sim.report.choices import TERMS, choices
from sim.report.latencies import latency_charts
from sim.report.links import link_uses
from sim.report.names import WorkerNames
from sim.report.sessions import SessionMap, costliest_first, session_map
from sim.report.templates import asset, templates
from sim.report.workers import Capacity, worker_charts
from sim.results.labels import SOURCE_LABELS
from sim.results.phases import counted_rows, left_out_lines
from sim.results.refusals import nothing_served, refusals
from sim.show.text import summary as text
from sim.show.text.facts import engine_facts, routing_facts
from sim.show.text.faults import fault_rows
from sim.show.text.latencies import latency_rows
from sim.show.text.page_parts import NOTHING_SERVED, thin_note
from sim.show.text.prefill import recomputation_line
from sim.show.text.versions import rules_text

if TYPE_CHECKING:
    import pandas as pd
    from jinja2 import Environment

    from sim.results.rows import Rows
    from sim.scenario.scenario import Scenario
    from sim.simulation.result import RunResult

_MOST_MAP_CHARACTERS = 400_000
"""Sessions get a map, those that recomputed most first, until their maps are together that long."""


def render_page(result: "RunResult") -> str:
    """Return a run as one HTML page that needs nothing else: no file, no network."""
    pages = templates()
    scenario, rows, summary = result.scenario, result.rows, result.to_dict()
    workers = scenario.workers
    names = WorkerNames(workers.ranks, workers.first.ranks if workers.decode else None)
    requests = counted_rows(rows.frame("requests"))
    maps, more_sessions = _maps(pages, requests, names)
    return pages.get_template("page.html").render(
        title=scenario.title,
        seed=scenario.seed,
        settings=scenario.to_toml(),
        notes=result.notes,
        style=asset("page.css"),
        script=asset("page.js"),
        summary=_summary(summary),
        faults=_faults(summary.get("faults", ())),
        maps=maps,
        more_sessions=more_sessions,
        disaggregated=scenario.workers.prefill is not None,
        latencies=latency_charts(rows, summary),
        causes=legend(summary["prefill"]["by_cause"]),
        cause_charts=cause_charts(requests, summary, names),
        terms=TERMS,
        choices=_choices(rows, scenario, names),
        workers=_workers(rows, scenario, summary["simulated_s"], names),
        links=link_uses(rows.frame("links"), names),
    )


def _summary(summary: Mapping[str, Any]) -> dict[str, Any]:
    sources = summary["prefill"]["by_source"]
    total = sum(sources.values())
    return {
        "simulated": words.seconds(summary["simulated_s"]),
        "rules": rules_text([summary]),
        "requests": "\n".join(_requests(summary)),
        "main": text.main_numbers(summary),
        "percentiles": list(summary["ttft_s"]),
        "latencies": latency_rows(summary),
        "warnings": text.warnings_of(summary),
        "footnotes": thin_note(summary["thin_percentiles"]),
        "recomputation": recomputation_line(summary["prefill"]).plain,
        "sources": {
            label: (words.count(sources[key]), words.percent(sources[key] / total if total else None))
            for key, label in SOURCE_LABELS.items()
        },
        "facts": {**routing_facts(summary), **engine_facts(summary)},
    }


def _requests(summary: Mapping[str, Any]) -> list[str]:
    nothing = [NOTHING_SERVED] if nothing_served([summary]) else []
    head = [text.requests_line(summary).plain, *left_out_lines(summary)]
    return [*head, *refusals([summary]), *nothing]


def _faults(faults: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    if not faults:
        return None
    columns, rows = fault_rows(faults)
    return {"columns": columns, "rows": rows}


def _maps(
    pages: "Environment", requests: "pd.DataFrame", names: WorkerNames
) -> tuple[list[tuple[SessionMap, str]], int]:
    """Return as many maps as the page has room for, each with its markup, and how many sessions have none."""
    template = pages.get_template("map.html")
    maps: list[tuple[SessionMap, str]] = []
    room = _MOST_MAP_CHARACTERS
    for number, session in enumerate(costliest_first(requests)):
        shown = session_map(session, names)
        markup = template.render(session=shown, number=number)
        room -= len(markup)
        if maps and room < 0:
            break
        maps.append((shown, markup))
    return maps, requests["session"].nunique() - len(maps)


def _choices(rows: "Rows", scenario: "Scenario", names: WorkerNames) -> Any:
    if "decisions" not in rows.tables:
        return None
    block_tokens = scenario.capacity().block_tokens
    return choices(counted_rows(rows.frame("requests")), rows.frame("decisions"), block_tokens, names)


def _workers(rows: "Rows", scenario: "Scenario", end_s: float, names: WorkerNames) -> Any:
    if "workers" not in rows.tables:
        return None
    return worker_charts(rows.frame("workers"), _rooms(scenario), end_s, names)


def _rooms(scenario: "Scenario") -> list[Capacity]:
    """Return how many blocks each worker has."""
    capacity, workers = scenario.capacity(), scenario.workers
    cpu_blocks = capacity.host[0].blocks if scenario.offload else None
    rooms = [Capacity(capacity.num_blocks - 1, cpu_blocks)] * workers.first.ranks
    if workers.decode:
        rooms += [Capacity(scenario.decode_capacity().num_blocks - 1, None)] * workers.then.ranks
    return rooms
