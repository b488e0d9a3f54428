"""A cache without time."""

import pytest

from sim.published.baselines import score_timeless, timeless
from sim.published.sets import replicates
from sim.published.study import GENERATED, Plans, Workload
from sim.workload.request import Request, Trace
from tests.clusters import scenario
from tests.published.files import target


def trace(*prompts: tuple[str, list[int]]) -> Trace:
    """Prompts of whole chunks of 16 tokens, which are the blocks of `tests.clusters`."""
    requests = (
        Request(index, session, 0, float(index), None, 16 * len(chunks), 1, chunks)
        for index, (session, chunks) in enumerate(prompts)
    )
    return Trace((*requests,), 16, "made")


def test_prompts_go_where_most_of_them_is() -> None:
    # a and b find both workers empty and take one each; a's second turn goes to its own and adds one block.
    found = timeless(scenario(), trace(("a", [1, 2]), ("b", [7]), ("a", [1, 2, 3])))
    assert found == {"prefill.recomputation_by_counter": 0.0, "workers_per_session.mean": 1.0}


def test_what_was_evicted_is_computed_again() -> None:
    # The only worker has room for two blocks.
    small = scenario(engine={"kv_blocks": 3}, workers={"count": 1})
    found = timeless(small, trace(("a", [1, 2]), ("b", [7, 8]), ("a", [1, 2])))
    # Six blocks computed, four required.
    assert found["prefill.recomputation_by_counter"] == pytest.approx(0.5)


def test_only_rows_without_time_are_answered() -> None:
    rows = [
        target(id="ttft"),
        target(id="locality", metric="workers_per_session.mean", unit="workers"),
        target(
            id="replay",
            metric="prefill.recomputation_by_counter",
            unit="fraction",
            combine="open-loop less turn-dependent",
        ),
    ]
    plans = Plans([Workload(GENERATED, replicates(2, 0))], ("workload.turns=2",))
    found = score_timeless("no time", rows, plans)
    assert found.variant.name == "no time"
    assert [row.target.id for row in found.rows] == ["locality"]
    assert len(found.rows[0].deciding.values) == 2
