"""Which rule moved a number: sums worked out by hand."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from sim.runs.comparison import Comparison
from sim.runs.rule_effects import Move, effects_frame, is_explained, pairs, to_dict
from sim.runs.run import Run
from tests.runs.comparisons import made


def under(version: str, ttft_s: float | None, seed: int = 0, switched: str = "", **more: str) -> Run:
    """A run under a release, perhaps with one rule of another and with sessions."""
    run = made("agg8", ttft_s, seed, written={"engine.version": version, **more})
    workload = {key.removeprefix("workload."): int(text) for key, text in more.items()}
    settings = {**run.settings, "engine": {"version": version}, "workload": workload}
    return replace(run, settings=settings, switched=switched)


def three_rules(seed: int = 0, plus: float = 0.0) -> list[Run]:
    """From 10 to 16 s: retention alone +4 and last +6, retirement -2 and -4, queues 0 and +1."""
    at = {
        ("0.28", ""): 10.0,
        ("0.33", ""): 16.0 + plus,
        ("0.28", "retention=0.33"): 14.0,
        ("0.33", "retention=0.28"): 10.0 + plus,
        ("0.28", "retirement=0.33"): 8.0,
        ("0.33", "retirement=0.28"): 20.0 + plus,
        ("0.28", "queues=0.33"): 10.0,
        ("0.33", "queues=0.28"): 15.0 + plus,
    }
    return [under(version, value, seed, switched) for (version, switched), value in at.items()]


def move(runs: list[Run], metric: str = "ttft_s.p50") -> Move:
    (pair,) = pairs(Comparison(["agg8"], runs))
    return pair.move(metric)


def values(found: Move) -> Mapping[str, float | None]:
    return {rule: effect.mean.value for rule, effect in found.rules.items()}


def test_an_effect_is_the_mean_of_alone_and_last_and_the_rest_is_kept() -> None:
    found = move(three_rules())

    assert (found.before, found.after, found.whole.value) == (10.0, 16.0, 6.0)
    assert values(found) == {"queues": 0.5, "retirement": -3.0, "retention": 5.0}
    retention = found.rules["retention"]
    assert (retention.alone.value, retention.last.value) == (4.0, 6.0)
    # 6 - (5 - 3 + 0.5).
    assert found.together.value == 3.5


def test_of_two_rules_nothing_is_left_over() -> None:
    """Alone a +1 and b +2, both +10: a takes half of the 7 that only both do."""
    found = move(
        [
            under("0.28", 1.0),
            under("0.33", 11.0),
            under("0.28", 2.0, switched="retention=0.33"),
            under("0.28", 3.0, switched="retirement=0.33"),
            under("0.33", 3.0, switched="retention=0.28"),
            under("0.33", 2.0, switched="retirement=0.28"),
        ]
    )

    assert values(found) == {"retirement": 5.5, "retention": 4.5}
    assert found.together.value == 0.0


def test_seeds_make_intervals() -> None:
    # The new release is 0, 1 and 2 s slower: all that a rule does last is the same.
    found = move([run for seed in range(3) for run in three_rules(seed, plus=float(seed))])

    assert (found.whole.value, found.whole.n) == (7.0, 3)
    assert found.whole.low == pytest.approx(7.0 - 4.303 / 3**0.5, abs=1e-3)
    assert found.rules["retention"].mean == (5.0, 5.0, 5.0, 3)
    assert found.together.value == 4.5


def test_a_seed_that_a_run_has_not_is_left_out_of_all() -> None:
    runs = [*three_rules(), *three_rules(1, plus=1.0)]
    runs[-1] = replace(runs[-1], summary=None, error="no room")
    found = move(runs)

    assert (found.whole.n, found.whole.value) == (1, 6.0)
    assert found.rules["queues"].mean.n == 1
    (failure,) = Comparison(["agg8"], runs).failures()
    assert failure == "agg8 at engine.version=0.33, queues=0.28, seed 1: no room"


def test_what_is_left_of_sums_that_cancel_is_nothing() -> None:
    # 0.1 + 0.2 is not 0.3.
    found = move(
        [
            under("0.28", 0.0),
            under("0.33", 0.3),
            under("0.28", 0.1, switched="retention=0.33"),
            under("0.28", 0.2, switched="retirement=0.33"),
            under("0.33", 0.2, switched="retention=0.28"),
            under("0.33", 0.1, switched="retirement=0.28"),
        ]
    )

    assert found.together.value == 0.0


def test_every_point_is_explained_by_its_own_runs() -> None:
    runs = [
        under(version, value * sessions, switched=switched, **{"workload.sessions": str(sessions)})
        for sessions in (1, 2)
        for version, switched, value in (
            ("0.28", "", 1.0),
            ("0.33", "", 2.0),
            ("0.28", "retention=0.33", 2.0),
            ("0.33", "retention=0.28", 1.0),
        )
    ]
    comparison = Comparison(["agg8"], runs)
    found = [pair.move("ttft_s.p50") for pair in pairs(comparison)]

    assert [(one.old, one.new, values(one)) for one in found] == [
        (("0.28", 1), ("0.33", 1), {"retention": 1.0}),
        (("0.28", 2), ("0.33", 2), {"retention": 2.0}),
    ]
    assert len(comparison.runs) == len(comparison.rule_runs) == 4


def test_json_of_an_explained_comparison_has_its_runs_and_what_moved_by_name() -> None:
    comparison = Comparison(["agg8"], three_rules())
    content = to_dict(comparison, ["ttft_s.p50"])

    assert is_explained(comparison)
    (moved,) = content["moved_by"]
    assert (moved["from"], moved["to"]) == ({"engine.version": "0.28"}, {"engine.version": "0.33"})
    assert moved["rules"]["retention"]["mean"]["value"] == 5.0
    assert moved["together"]["value"] == 3.5
    assert len(content["runs"]) == 2
    assert {run["switched"] for run in content["rule_runs"]} == {
        f"{rule}={version}" for rule in ("retention", "retirement", "queues") for version in ("0.28", "0.33")
    }


def test_any_other_comparison_has_no_such_keys() -> None:
    comparison = Comparison(["agg8"], [under("0.28", 1.0), under("0.33", 2.0)])

    assert not is_explained(comparison)
    assert to_dict(comparison, ["ttft_s.p50"]) == comparison.to_dict(["ttft_s.p50"])


def test_rows_of_a_table_add_up_to_the_whole() -> None:
    table = effects_frame(Comparison(["agg8"], three_rules()), ["ttft_s.p50"])

    assert list(table["rule"]) == ["all", "queues", "retention", "retirement", "together"]
    assert list(table["moved"]) == [6.0, 0.5, 5.0, -3.0, 3.5]
    assert list(table["alone"])[1:4] == [0.0, 4.0, -2.0]
    assert set(table["from"] + table["to"] + table["unit"]) == {"0.280.33s"}
