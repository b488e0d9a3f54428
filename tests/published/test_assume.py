"""Sets of assumptions beside each other."""

import csv
from pathlib import Path

import pytest
from pydantic import ValidationError
from rich.console import Console

from sim.base.errors import InputError
from sim.experiments.jobs.engine import local
from sim.published.assume import Assumed, AssumptionSet, chosen, hangs_on, score_assumed
from sim.published.assume_show import ASSUMED, COLUMNS, render, to_dict, write
from sim.published.cluster import read_cluster
from sim.published.scores import score_values
from sim.published.sets import replicates
from sim.published.study import GENERATED, Maker, Plans, Workload
from tests.published.files import target

ROW = target(low="0", high="1e9")
LONGER = AssumptionSet(title="longer", why="a test", set=("workload.turns=2", "workload.output_factor=2"))
PLAIN = AssumptionSet(why="a test", set=("workload.turns=1",))


def assumed(name: str, left_out: str | None, value: float) -> Assumed:
    row = score_values(target(), lambda cell: [value], GENERATED)
    return Assumed(name, name, left_out, GENERATED, (row,), (), 1)


def test_names_are_told_from_each_other() -> None:
    known = {"plain": PLAIN, "longer": LONGER}
    assert [*chosen(["longer", "plain"], known, "study.toml")] == ["longer", "plain"]
    assert chosen(["all"], known, "study.toml") == known
    with pytest.raises(InputError, match="has no such set of assumptions, but none"):
        chosen(["all"], {}, "study.toml")
    with pytest.raises(
        InputError, match=r"--assume lomger: study.toml has no such set .*did you mean 'longer'"
    ):
        chosen(["lomger"], known, "study.toml")


@pytest.mark.parametrize(
    ("given", "message"), [({"why": ""}, "why"), ({"why": "x", "set": ["a"]}, "key=value")]
)
def test_a_set_says_what_speaks_for_it(given: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        AssumptionSet.model_validate(given)


def test_rows_are_scored_under_each_set_and_without_each_setting() -> None:
    plans = Plans([Workload(GENERATED, replicates(1, 0))])
    found = score_assumed([ROW], {"plain": PLAIN, "longer": LONGER}, plans, Maker(local(1)), without=True)
    assert [(each.name, each.left_out) for each in found] == [
        ("plain", None),
        ("plain", "workload.turns=1"),
        ("longer", None),
        ("longer", "workload.turns=2"),
        ("longer", "workload.output_factor=2"),
    ]
    assert found[0].heading == "plain"
    assert found[2].heading == "longer"


def test_a_recorded_workload_keeps_its_sessions(tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    trace.write_text(
        "".join(
            f'{{"session_id": "s{i}", "timestamp": {i}, "input_length": 64, "output_length": 1, '
            f'"hash_ids": [{i}]}}\n'
            for i in range(4)
        )
    )
    sent = Workload("four", replicates(1, 0), (f"workload.path={trace}", "workload.chunk_tokens=64"))
    other = AssumptionSet(why="a test", set=("workload.profile=kct", "workload.output_factor=3"))
    (found,) = score_assumed([ROW], {"other": other}, Plans([sent]), Maker(local(1)))
    assert (found.workload, found.heading, found.hung) == ("four", "other, four", ())
    assert found.rows[0].deciding.values


def test_what_a_row_hangs_on() -> None:
    found = [
        assumed("a", None, 1.5),
        assumed("a", "x=1", 3.0),
        assumed("a", "y=1", 1.0),
        assumed("b", None, 1.0),
    ]
    assert hangs_on(found) == {"a": {"row": "inside; not without x=1"}}
    found = [
        assumed("a", None, 5.0),
        assumed("a", "x=1", 1.0),
        assumed("c", None, 5.0),
        assumed("c", "x=1", 4.0),
    ]
    assert hangs_on(found) == {
        "a": {"row": "outside; inside without x=1"},
        "c": {"row": "outside, whichever setting is left out"},
    }


def test_tables(tmp_path: Path) -> None:
    found = [assumed("a", None, 1.5), assumed("b", None, 3.0), assumed("b", "x=1", 1.0)]
    write(found, tmp_path)
    with (tmp_path / ASSUMED).open() as file:
        lines = [*csv.DictReader(file)]
    assert tuple(lines[0]) == COLUMNS
    assert [
        (line["assumptions"], line["without"], line["row_holds"]) for line in lines[:: len(lines) // 3]
    ] == [
        ("a", "", "yes"),
        ("b", "", "no"),
        ("b", "x=1", "yes"),
    ]
    content = to_dict(found)
    assert [each["rows_that_hold"] for each in content["assumptions"]] == [1, 0, 1]
    console = Console(width=120, record=True, file=None, quiet=False)
    with console.capture() as captured:
        console.print(render(found, read_cluster("talk").settings))
    text = captured.get()
    assert "1 of 1" in text
    assert "0 of 1" in text
    assert "outside; inside without x=1" in text


def test_the_talk_has_few_sets_each_with_a_reason() -> None:
    sets = read_cluster("talk").settings.assumptions
    assert [*sets] == ["defaults", "tables", "study", "study-budget", "study-tables"]
    assert not sets["defaults"].set
