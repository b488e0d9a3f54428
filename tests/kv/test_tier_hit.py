"""How far a prompt is hit in the host tier. A column is a position, a row a cache group, attention last."""

import pytest

from sim.kv.group_spec import even_groups
from sim.kv.key_runs import Key
from sim.kv.offload import LruTier
from sim.kv.tier_hit import TierSearch


def tier_of(*rows: str) -> tuple[LruTier, list[list[Key]]]:
    """Build a tier from rows of `.` absent, `x` idle, `w` being written, `r` being read."""
    tier = LruTier(100)
    keys = [[(position, group) for position in range(len(row))] for group, row in enumerate(rows)]
    marks = {key: rows[key[1]][key[0]] for row in keys for key in row}
    tier.store([key for key, mark in marks.items() if mark != "."])
    tier.stored([key for key, mark in marks.items() if mark in "xr"])
    tier.load([key for key, mark in marks.items() if mark == "r"])
    return tier, keys


def tier_hit(tier: LruTier, keys: list[list[Key]], start: int, limit: int) -> int | None:
    """The hit of groups whose blocks have one token each."""
    return TierSearch(even_groups(1, len(keys) - 1)).end(tier, keys, start, limit)


@pytest.mark.parametrize(
    ("row", "start", "limit", "end"),
    [
        ("xxx.x", 0, 5, 3),
        ("xxx.x", 1, 5, 3),
        ("xxx.x", 3, 5, 3),
        ("xxxxx", 0, 4, 4),
        (".xxxx", 0, 5, 0),
        ("xxwxx", 0, 5, None),
        ("xxwxx", 3, 5, 5),
        ("xx.wx", 0, 5, 2),
        ("xrxxx", 0, 5, None),
        ("rxxxx", 1, 5, 5),
        ("rx...", 2, 2, 2),
    ],
)
def test_a_plain_model_is_hit_by_a_run(row: str, start: int, limit: int, end: int | None) -> None:
    tier, keys = tier_of(row)
    assert tier_hit(tier, keys, start, limit) == end


@pytest.mark.parametrize(
    ("rows", "end"),
    [
        # every group has a state at 4, and the attention run reaches it
        (("...x.", "...x.", "...x.", "xxxx."), 4),
        # the deepest state lies beyond the attention run
        ((".x..x", ".x..x", ".x..x", "xxx.."), 2),
        # the second group lacks the state at 4: the first is asked again
        ((".x.x.", ".x...", ".x.x.", "xxxxx"), 2),
        # no boundary at which all groups have one
        ((".x...", "...x.", ".x.x.", "xxxxx"), 0),
        # states alone are no hit
        (("...x.", "...x.", "...x.", "....."), 0),
        # the wanted state is being written, in one group
        (("...x.", "...w.", "...x.", "xxxx."), None),
        # the key being written lies beyond the boundary that all others agree on
        ((".x...", ".x...", ".x...", "xxxw."), 2),
        # it is not passed over as long as nobody lowers the end: the deepest states lie at the limit
        (("....x", "....x", "....x", "xw.xx"), None),
        # the first group's state is being written, another group has none so deep
        (("...w.", ".x...", "...x.", "xxxxx"), 0),
        # a state of the hit is being read for somebody else; one that is not wanted does no harm
        (("...r.", "...x.", "...x.", "xxxx."), None),
        ((".r.x.", "...x.", "...x.", "xxxxr"), 4),
    ],
)
def test_a_hybrid_model_needs_a_state_of_every_group(rows: tuple[str, ...], end: int | None) -> None:
    tier, keys = tier_of(*rows)
    assert tier_hit(tier, keys, 0, 5) == end


def test_asking_changes_nothing() -> None:
    tier, keys = tier_of("..x", "..x", "..x", "xxx")
    before = tier.changes
    tier_hit(tier, keys, 0, 3)
    assert tier.changes == before
