"""On which node each worker stands."""

import pytest
from pydantic import ValidationError

from sim.base.errors import InputError
from sim.hardware.parallel import Engines, Parallel
from sim.links.placement import Placement, PlacementSettings, place


def ones(count: int) -> Engines:
    return Engines(count)


def test_nodes_are_filled_in_order_prefill_first() -> None:
    """The talk's 1P3D and 2P6D: four GPUs a node, both prefill workers on one."""
    assert place(PlacementSettings(), ones(1), ones(3)) == Placement((0,), (0, 0, 0))
    assert place(PlacementSettings(), ones(2), ones(6)) == Placement((0, 0), (0, 0, 1, 1, 1, 1))
    assert place(PlacementSettings(gpus_per_node=2), ones(3), ones(2)) == Placement((0, 0, 1), (1, 2))


def test_an_engine_of_several_gpus_stands_on_one_node_if_it_can() -> None:
    two, four, eight = Parallel(tensor=2), Parallel(tensor=4), Parallel(tensor=8)
    assert place(PlacementSettings(), Engines(2, two), ones(4)).nodes == (0, 0, 1, 1, 1, 1)
    assert place(PlacementSettings(), Engines(1, Parallel(tensor=3)), Engines(1, two)).nodes == (0, 1)
    # Eight GPUs take two nodes of four.
    assert place(PlacementSettings(), Engines(2, eight), Engines(1, four)).nodes == (0, 2, 4)


def test_data_parallel_ranks_go_on_to_the_next_node() -> None:
    spread = Engines(1, Parallel(tensor=2, data=4))
    assert place(PlacementSettings(), spread, ones(1)) == Placement((0, 0, 1, 1), (2,))


def test_nodes_of_one_s_own_count_gpus() -> None:
    settings = PlacementSettings(prefill_nodes=(0, 1), decode_nodes=(2,))
    two, eight = Parallel(tensor=2), Parallel(tensor=8)
    # Eight GPUs go on from node 2 to node 3.
    assert place(settings, Engines(2, two), Engines(1, eight)).nodes == (0, 1, 2)
    with pytest.raises(InputError, match=r"the workers of node 0 have 6 GPUs and the node has 4"):
        place(PlacementSettings(prefill_nodes=(0, 0), decode_nodes=(0,)), Engines(2, two), Engines(1, two))


def test_a_placement_of_one_s_own() -> None:
    settings = PlacementSettings(gpus_per_node=3, prefill_nodes=(1, 0), decode_nodes=(0, 1, 1))
    placement = place(settings, ones(2), ones(3))
    assert placement == Placement((1, 0), (0, 1, 1))
    assert placement.nodes == (1, 0, 0, 1, 1)


def test_lists_as_toml_has_them() -> None:
    settings = PlacementSettings.model_validate({"prefill_nodes": [0], "decode_nodes": [0, 1]})
    assert place(settings, ones(1), ones(2)).nodes == (0, 0, 1)


@pytest.mark.parametrize(
    ("prefill", "decode", "message"),
    [
        ((0,), (0, 0, 0), r"prefill_nodes = \[0\]: 1 node for 2 prefill workers"),
        ((0, 0), (0, 0), r"decode_nodes = \[0, 0\]: 2 nodes for 3 decode workers"),
        ((0, 0), (2, 2, 2), "node 2 has a worker and node 1 has none; .* without gaps"),
        ((1, 1), (1, 1, 2), "node 2 has a worker and node 0 has none"),
        ((0, 0), (0, 0, 0), r"the workers of node 0 have 5 GPUs and the node has 4 \(gpus_per_node\)"),
    ],
)
def test_what_does_not_fit_the_workers_is_refused(
    prefill: tuple[int, ...], decode: tuple[int, ...], message: str
) -> None:
    settings = PlacementSettings(prefill_nodes=prefill, decode_nodes=decode)
    with pytest.raises(InputError, match=message):
        place(settings, ones(2), ones(3))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prefill_nodes": (0,)}, "prefill_nodes is given without decode_nodes: give both, or neither"),
        ({"decode_nodes": (0,)}, "decode_nodes is given without prefill_nodes"),
        ({"prefill_nodes": (-1,), "decode_nodes": (0,)}, "prefill_nodes.0"),
        ({"gpus_per_node": 0}, "gpus_per_node"),
    ],
)
def test_what_makes_no_sense_in_itself_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        PlacementSettings.model_validate(settings)
