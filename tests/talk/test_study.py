"""The runs of a study: made once, kept, and told apart."""

from pathlib import Path

import pytest

from sim.errors import InputError
from sim.scenario import load_scenario
from sim.talk.cells import Point, cells, points
from sim.talk.fingerprint import of_run
from sim.talk.store import RUNS, Store
from sim.talk.study import GENERATED, Plans, Replicate, Runner, Workload, make, replicates, scenario_at
from tests.talk.files import target

ROW = target(configurations="agg4 1p3d", combine="difference")
FEW = ("workload.turns=1",)
SENT = Workload(GENERATED, replicates(2, 0))
PLANS = Plans([SENT], FEW)


def made(store: Store) -> list[int]:
    """Make the runs of a row; return how many were left to make."""
    totals: list[int] = []

    def on_total(total: int) -> "Counter":
        totals.append(total)
        return Counter(totals)

    study = make(points([ROW]), PLANS, Runner(store, 1, on_total))
    (cell,) = cells(ROW)
    assert len(study.values(ROW, cell, SENT)) == 2
    return totals


class Counter:
    """Counts down what was made."""

    def __init__(self, totals: list[int]) -> None:
        self._totals = totals

    def __call__(self) -> None:
        self._totals.append(-1)


def test_a_second_call_makes_no_run_again(tmp_path: Path) -> None:
    assert made(Store(tmp_path / "out")) == [4, -1, -1, -1, -1]
    first = (tmp_path / "out" / RUNS).read_bytes()
    assert made(Store(tmp_path / "out")) == [0]
    assert (tmp_path / "out" / RUNS).read_bytes() == first


def test_a_run_that_was_stopped_while_it_was_written_is_made_again(tmp_path: Path) -> None:
    made(Store(tmp_path / "out"))
    file = tmp_path / "out" / RUNS
    whole = file.read_bytes()
    file.write_bytes(whole[:-20])
    assert made(Store(tmp_path / "out")) == [1, -1]
    assert sorted(file.read_bytes().splitlines()) == sorted(whole.splitlines())


def test_a_damaged_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / RUNS).write_text('{"run": "x", "numbers": {}}\n{"what": 1}\n')
    with pytest.raises(InputError, match=r"runs\.jsonl: line 2: not a run of an earlier call"):
        Store(tmp_path)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match=r"--out .*: is not empty and has no runs\.jsonl"):
        Store(tmp_path)


def test_a_failed_run_names_itself(tmp_path: Path) -> None:
    short = tmp_path / "short.jsonl"
    short.write_text('{"timestamp": 0, "input_length": 64, "output_length": 1, "hash_ids": [1]}\n')
    settings = (f"workload.path={short}", "workload.chunk_tokens=64")
    plans = Plans([Workload("short", replicates(1, 0), settings)])
    with pytest.raises(InputError, match=r"RAM for KV blocks, 4 sessions, seed 0: .*the file holds 1"):
        make([Point("agg4", 4, "max-concurrency")], plans, Runner(Store(None)))


def test_replicates() -> None:
    assert replicates(2, 0) == [Replicate(0, None), Replicate(1, None)]
    assert replicates(1, 2) == [Replicate(0, 1), Replicate(0, 2)]


def test_a_draw_changes_coefficients() -> None:
    point = Point("agg4", 4, "max-concurrency")
    plain, drawn = (scenario_at(SENT, point, Replicate(0, k), ()) for k in (None, 1))
    assert plain.coefficients().step != drawn.coefficients().step


def test_offload_is_set_where_there_is_one() -> None:
    settings = ("offload.kv_events=self-describing",)
    with_tier, without = (
        scenario_at(SENT, Point(name, 8, "max-concurrency"), Replicate(0, None), settings)
        for name in ("1p3d", "1p3d-no-offload")
    )
    assert with_tier.offload is not None
    assert with_tier.offload.kv_events == "self-describing"
    assert without.offload is None


def fingerprint(*overrides: str, name: str = "agg4") -> str:
    return of_run(load_scenario(name, overrides))


@pytest.mark.parametrize(
    "override",
    ["workload.sessions=4", "seed=1", "timing.a_pair_s=600ps", "frontend.alpha_in_s=1ms", "offload=none"],
)
def test_what_changes_numbers_changes_the_fingerprint(override: str) -> None:
    assert fingerprint(override) != fingerprint()


def test_what_changes_no_number_does_not() -> None:
    assert fingerprint("title=Other") == fingerprint("output.tables=[]") == fingerprint()
    # The links between prefill and decode workers mean nothing to aggregated ones.
    assert fingerprint("disaggregation.lease_s=1s") == fingerprint()
    assert fingerprint("disaggregation.lease_s=1s", name="1p3d") != fingerprint(name="1p3d")


def test_a_trace_counts_by_its_content(tmp_path: Path) -> None:
    row = '{"timestamp": 0, "input_length": 64, "output_length": %d, "hash_ids": [1]}\n'
    paths = [tmp_path / f"{name}.jsonl" for name in "abc"]
    for path, output in zip(paths, (1, 1, 2), strict=True):
        path.write_text(row % output)
    first, same, other = (fingerprint(f"workload.path={path}", "workload.sessions=1") for path in paths)
    assert first == same
    assert first != other
