"""With many workers, the page shows those that matter."""

import pandas as pd

from sim.report.choices import TERMS, choices
from sim.report.names import WorkerNames
from sim.report.sessions import session_map
from sim.results.rows import Rows

NAMES = WorkerNames(40)


def requests(*workers: int) -> pd.DataFrame:
    """Turns of one session on these workers: 100 tokens, of which 30 are recomputed, 20 new, 50 hit."""
    rows = Rows()
    tokens = {"prompt_tokens": 100, "required_tokens": 20, "first_tokens": 20, "local_hit_tokens": 50}
    for turn, worker in enumerate(workers):
        place = {"index": turn, "session": "s", "turn": turn, "worker": worker, "first_scheduled_s": 1.0}
        counts = {"recomputed_tokens": 30, "elsewhere_tokens": 30, "external_hit_tokens": 0}
        rows.row("requests", **place, **tokens, **counts)
    return rows.frame("requests")


def test_a_map_has_rows_for_the_workers_of_the_session() -> None:
    shown = session_map(requests(30, 5, 30), NAMES)
    assert [row.short for row in shown.rows] == ["W5", "W30"]
    assert [[cell is not None for cell in row.cells] for row in shown.rows] == [
        [False, True, False],
        [True, False, True],
    ]
    assert (shown.workers, shown.recomputed, shown.share) == (2, "90", "30.0 %")


def test_of_many_candidates_the_chosen_the_best_placed_and_the_cheapest_are_shown() -> None:
    rows = Rows()
    for worker in range(40):
        terms = dict.fromkeys(TERMS, 0.0) | {"cost": float(worker), "decode_blocks": 0}
        tiers = {"device_blocks": 8 if worker == 38 else 0, "host_blocks": 0, "disk_blocks": 0}
        choice = {"request": 0, "leg": "aggregated", "now_s": 1.0, "worker": worker, "chosen": worker == 39}
        rows.row("decisions", **choice, **tiers, **terms, cached_tokens=30, prefill_load_scale=1.0)
    found = choices(requests(39), rows.frame("decisions"), 10, NAMES)

    (shown,) = found.shown
    assert [candidate.worker for candidate in shown.candidates] == [
        *(f"W{n}" for n in range(14)),
        "W38",
        "W39",
    ]
    assert [candidate.worker for candidate in shown.candidates if candidate.chosen] == ["W39"]
    assert [candidate.worker for candidate in shown.candidates if candidate.fewest] == ["W38"]
    assert (shown.more, shown.cost, shown.expected, shown.fewest) == (24, "30", "80", "0")
