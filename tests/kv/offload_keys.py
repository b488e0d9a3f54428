"""Keys of a tier, by number, and how they get there."""

from sim.kv.offload import Key, OffloadTier


def keys(*numbers: int) -> list[Key]:
    return [(number, 0) for number in numbers]


def filled(tier: OffloadTier, *numbers: int) -> None:
    for key in keys(*numbers):
        assert tier.store([key]) == ([key], [])
        tier.stored([key])
