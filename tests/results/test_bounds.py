"""What other routing would hit."""

from sim.results.bounds import NAMES, bounds_of
from sim.results.quantities import SHARE, is_part_of_one, label, unit
from tests.results.test_metrics import completed, summary


def test_bounds_are_the_shares_that_other_policies_hit() -> None:
    worse = summary(completed(local_hit_tokens=20))
    assert bounds_of({"round-robin": worse, "kv": summary(completed()), "oracle": None}) == {
        "round-robin": 0.3,
        "oracle": None,
    }


def test_bounds_are_shown_as_shares() -> None:
    assert NAMES == ("bounds.round-robin", "bounds.oracle")
    assert [label(name) for name in NAMES] == [
        "Prompt tokens hit, round robin",
        "Prompt tokens hit, oracle",
    ]
    for name in NAMES:
        assert unit(name) is SHARE
        assert is_part_of_one(name)
