"""Engines of several GPUs, counted and in words."""

import pytest

from sim.hardware.parallel import ONE_GPU, Engines, Parallel, cluster_name


def test_gpus_and_ranks() -> None:
    spread = Parallel(tensor=2, pipeline=3, data=4)
    assert (spread.gpus_per_rank, spread.gpus) == (6, 24)
    assert (Engines(5, spread).gpus, Engines(5, spread).ranks) == (120, 20)


@pytest.mark.parametrize(
    ("first", "decode", "name"),
    [
        (Engines(8), Engines(0), "8"),
        (Engines(4, Parallel(tensor=2)), Engines(0), "4 x TP2"),
        (Engines(1, Parallel(tensor=4, data=2, expert=True)), Engines(0), "1 x TP4 DP2 EP"),
        (Engines(2), Engines(6), "2P6D"),
        (Engines(2, Parallel(tensor=2)), Engines(4), "2P TP2 + 4D"),
        (Engines(2), Engines(1, Parallel(pipeline=2)), "2P + 1D PP2"),
    ],
)
def test_a_cluster_in_words(first: Engines, decode: Engines, name: str) -> None:
    assert cluster_name(first, decode) == name
    assert str(ONE_GPU) == ""
