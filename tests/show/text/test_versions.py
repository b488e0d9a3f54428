"""What is said of releases whose rules were tried on the same traffic."""

import pytest

from sim.show.text.versions import rules_line, rules_text, versions_note
from tests.runs.comparisons import made
from tests.runs.test_versions import of, under


def test_equal_numbers_say_that_an_upgrade_changes_nothing_and_what_could() -> None:
    (note,) = versions_note(of(under("1.5", 1.0), under("1.6", 1.0)))

    assert note.startswith("router.version 1.5 and 1.6: every number is equal")
    assert "route this traffic alike" in note
    assert "overrides" in note
    assert "policy classes" in note


def test_other_numbers_say_why() -> None:
    (note,) = versions_note(of(under("1.5", 1.0), under("1.6", 1.5)))

    assert "do not route this traffic alike" in note
    assert "overrides" in note


@pytest.mark.parametrize("runs", [[made("agg8", 1.0)], [under("1.6", 1.0)]])
def test_one_rule_set_is_worth_no_word(runs) -> None:
    assert versions_note(of(*runs)) == []


def test_the_head_names_each_software_once_with_all_its_releases() -> None:
    old = {"versions": {"router": "Dynamo 1.5", "engine": "vLLM 0.28"}}
    new = {"versions": {"router": "Dynamo 1.6", "engine": "vLLM 0.28"}}

    assert rules_text([old]) == "router Dynamo 1.5, engine vLLM 0.28"
    assert rules_text([old, new, old]) == "router Dynamo 1.5 and 1.6, engine vLLM 0.28"
    assert [line.plain for line in rules_line([old])] == ["router Dynamo 1.5, engine vLLM 0.28"]


def test_what_an_earlier_version_kept_has_no_such_line() -> None:
    assert [*rules_line([{"schema_version": 1}])] == []
