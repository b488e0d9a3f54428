import pytest
from pydantic import ValidationError

from sim.workload.settings import NOT_BESIDE, OF_SOURCE, ReplaySettings, WorkloadSettings

ROWS = {
    "kind": "rows",
    "requests": 3,
    "rate_per_s": 1,
    "families": [{"prompt_tokens": 5, "output_tokens": 1}],
}


def test_a_workload_comes_from_a_file_or_from_a_profile() -> None:
    assert WorkloadSettings.model_validate({"path": "trace.jsonl"}).sessions is None
    assert WorkloadSettings.model_validate({"path": "trace.jsonl", "profile": None}).profile is None
    generated = WorkloadSettings.model_validate(
        {"profile": "talk", "sessions": 28, "turns": 20, "max_think_s": "1min"}
    )
    assert (generated.max_think_s, generated.window, generated.start_gap_s) == (60.0, "middle", 0.5)


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        ({}, "give either path .* or profile .*, not both"),
        ({"path": "a", "profile": "talk", "sessions": 1}, "give either path .* or profile .*, not both"),
        (
            {"path": "a", "window": "first", "think_factor": 2},
            "think_factor, window: only beside profile or, of a trace, beside turns",
        ),
        (
            {"path": "a", "turns": 20, "max_context_tokens": 5},
            "max_context_tokens: only beside profile, but path is given",
        ),
        ({"path": "a", "turns": 20, "window": -1}, "window"),
        ({"path": "a", "turns": 20, "window": "last"}, "window"),
        (
            {"profile": "kct", "sessions": 1, "chunk_tokens": 64},
            "chunk_tokens: only beside path, but profile",
        ),
        ({"profile": "kct"}, "sessions is missing"),
        (
            {"synthetic": ROWS, "sessions": 3, "format": "mooncake"},
            "format, sessions: only beside path or profile, but synthetic is given",
        ),
        ({"synthetic": ROWS, "path": "a"}, "or synthetic .*, not both"),
        ({"synthetic": {"kind": "column"}}, "'chat', 'shared-prefix', 'rows'"),
        ({"synthetic": {"kind": "rows", "turns": 3}}, "Extra inputs are not permitted"),
        ({"profile": "chat", "sessions": 1}, "'talk', 'talk-1m' or 'kct'"),
        ({"path": "a", "sessions": 0}, "greater than 0"),
        ({"path": "a", "chunk_tokens": -1}, "greater than 0"),
        ({"path": "a", "sec_multiplier": float("nan")}, "finite number|greater than 0"),
        ({"path": "a", "format": "csv"}, "must be 'auto', .*'mooncake', 'mooncake-delta', .*'timed_trace'"),
        ({"profile": "kct", "sessions": 1, "max_think_s": "60 parsecs"}, "is not a time"),
    ],
)
def test_a_workload_that_makes_no_sense_is_refused_with_a_reason(
    workload: dict[str, object], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        WorkloadSettings.model_validate(workload)


def test_a_key_without_a_value_is_not_given() -> None:
    assert WorkloadSettings.model_validate({"path": "a", "turns": None}).turns is None


@pytest.mark.parametrize("source", OF_SOURCE)
def test_what_has_no_meaning_beside_a_source_is_a_setting_and_belongs_to_another(source: str) -> None:
    others = OF_SOURCE.keys() - {source}
    assert NOT_BESIDE[source] < WorkloadSettings.model_fields.keys()
    assert others < NOT_BESIDE[source]
    assert all(any(key in OF_SOURCE[other] for other in others) for key in NOT_BESIDE[source] - others)
    assert not NOT_BESIDE[source] & {source, *OF_SOURCE[source]}


def test_only_the_number_of_sessions_means_something_beside_two_sources() -> None:
    assert OF_SOURCE["path"] & OF_SOURCE["profile"] == {"sessions"}
    assert OF_SOURCE["synthetic"] == set()


def test_replay_is_by_default_what_the_talk_did() -> None:
    assert ReplaySettings() == ReplaySettings(
        client="max-concurrency", max_concurrency="sessions", speedup=1.0
    )


@pytest.mark.parametrize(
    "replay", [{"client": "closed-loop"}, {"max_concurrency": 0}, {"max_concurrency": "all"}, {"speedup": 0}]
)
def test_a_replay_that_makes_no_sense_is_refused(replay: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ReplaySettings.model_validate(replay)


@pytest.mark.parametrize(
    ("replay", "message"),
    [
        ({"warm_start": "smaller-run"}, "warm_sessions is missing"),
        (
            {"warm_start": "first-contexts", "warm_sessions": 3},
            'warm_sessions: only for warm_start = "smaller',
        ),
        ({"warm_placement": "spread"}, "warm_placement: only for warm_start"),
        ({"warm_sessions": 3, "warm_placement": "router"}, "warm_placement: only for warm_start"),
        ({"warm_sessions": []}, "at least 1 item"),
        ({"warm_sessions": [0]}, "greater than 0"),
        ({"warm_start": "everything"}, "'first-contexts', 'shared-prefixes' or 'smaller-run'"),
        ({"lanes": 3}, 'lanes: only for client = "turn-dependent"'),
        ({"client": "turn-dependent", "duration_s": 3}, "duration_s: only beside lanes"),
        ({"client": "turn-dependent", "lane_gap_s": 3}, "lane_gap_s: only beside lanes"),
        ({"client": "turn-dependent", "lanes": 3, "at_end": "cut"}, "at_end: only beside duration_s"),
        (
            {"client": "turn-dependent", "lanes": 3, "duration_s": 60, "warm_up_s": "1min"},
            "warm_up_s: must be below duration_s",
        ),
        ({"warm_up_requests": -1}, "greater than or equal to 0"),
        ({"max_think_s": -1}, "is not a time"),
        ({"think_factor": 0}, "greater than or equal to"),
    ],
)
def test_a_replay_that_makes_no_sense_is_refused_with_a_reason(
    replay: dict[str, object], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        ReplaySettings.model_validate(replay)


def test_smaller_runs_are_one_or_several() -> None:
    assert ReplaySettings.model_validate({"warm_sessions": 4}).smaller_runs == (4,)
    assert ReplaySettings.model_validate({"warm_sessions": [4, 8]}).smaller_runs == (4, 8)
    assert ReplaySettings().smaller_runs == ()
