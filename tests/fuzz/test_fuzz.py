"""What once broke a rule breaks none any more, and a short fuzz finds nothing new."""

from pathlib import Path

import pytest

from tests.fuzz.__main__ import fuzz
from tests.fuzz.case import kept, read_kept
from tests.fuzz.targets import TARGETS


@pytest.mark.parametrize("path", kept(), ids=lambda path: path.stem)
def test_a_case_that_once_broke_a_rule_breaks_none(path: Path) -> None:
    assert read_kept(path).broken_rule() is None


@pytest.mark.parametrize("target", TARGETS)
def test_a_few_tries_break_no_rule(target: str) -> None:
    tries, broken = fuzz(target, seconds=60, seed=3, most=60)
    assert tries == 60
    assert [rule for _, rule in broken] == []
