"""KV transfers between workers: how long they take when they meet."""

from collections.abc import Sequence
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.links.network import LinkUse, Network
from sim.links.settings import NetworkSettings, NvlinkSettings, RoceSettings
from sim.links.sharing import Sharing

SHARINGS: tuple[Sharing, ...] = ("processor-sharing", "fifo")
Start = tuple[float, int, int, int]
"""When, bytes, from and to which worker; its place in the list is its id."""


def settings(sharing: Sharing = "processor-sharing", latency_s: float = 0.0) -> NetworkSettings:
    """NVLink of 100 bytes a second, cards of 10, for sums that a head can do."""
    return NetworkSettings(
        nvlink=NvlinkSettings(bandwidth_bytes_per_s=100.0, latency_s=latency_s, per_descriptor_s=0.0),
        roce=RoceSettings(bandwidth_bytes_per_s=10.0, latency_s=latency_s, per_descriptor_s=0.0),
        sharing=sharing,
    )


def play(network: Network, starts: Sequence[Start], extra_s: Sequence[float] = ()) -> dict[int, float]:
    """Start transfers and ask when told to (and at extra times); return id -> end, in order of ending."""
    ends: dict[int, float] = {}
    todo = sorted([(when, i) for i, (when, *_) in enumerate(starts)] + [(when, -1) for when in extra_s])
    asked = 0
    while todo or network.next_s() < inf:
        now_s = min(network.next_s(), todo[0][0] if todo else inf)
        ends |= dict.fromkeys(network.finish(now_s), now_s)
        asked += 1
        while todo and todo[0][0] <= now_s:
            _, i = todo.pop(0)
            if i >= 0:
                _, n_bytes, source, target = starts[i]
                network.start(i, n_bytes, 1, source, target, now_s=now_s)
    # A transfer joins and ends: more questions would be ones without an answer.
    assert asked <= 3 * len(starts) + len(extra_s)
    return ends


def used(network: Network, now_s: float) -> dict[tuple[str, int, str], LinkUse]:
    return {use[:3]: use for use in network.links(now_s) if use.transfers or use.busy_s}


# By hand: workers 0 and 1 on node 0, 2 and 3 on node 1, 4 on node 2.

NODES = (0, 0, 1, 1, 2)


def test_settings_take_human_units() -> None:
    assert RoceSettings.model_validate(
        {"bandwidth_bytes_per_s": "100Gbps", "latency_s": "5ms", "per_descriptor_s": "3.8us"}
    ) == RoceSettings(bandwidth_bytes_per_s=12.5e9, latency_s=0.005, per_descriptor_s=3.8e-6)


@pytest.mark.parametrize("sharing", SHARINGS)
def test_one_transfer_alone(sharing: Sharing) -> None:
    """2 s of latency and 6 descriptors of 0.5 s, then 40 bytes at 10 a second."""
    roce = RoceSettings(bandwidth_bytes_per_s=10.0, latency_s=2.0, per_descriptor_s=0.5)
    network = Network(NetworkSettings(roce=roce, sharing=sharing), NODES)
    assert network.next_s() == inf
    network.start(7, 40, 6, source=0, target=2, now_s=1.0)
    assert network.next_s() == 6.0
    assert network.finish(6.0) == []
    assert network.next_s() == 10.0
    assert network.finish(9.9) == []
    assert network.finish(10.0) == [7]
    assert network.next_s() == inf
    assert network.finish(inf) == []
    assert used(network, 12.0) == {
        ("roce", 0, "out"): LinkUse("roce", 0, "out", 10.0, 1, 40, 4.0, 0.0),
        ("roce", 1, "in"): LinkUse("roce", 1, "in", 10.0, 1, 40, 4.0, 0.0),
    }


def test_two_transfers_divide_a_card() -> None:
    """Alone from 0 to 2 s (20 of 60 bytes), at half rate until the other has its 15, alone again."""
    network = Network(settings(), NODES)
    ends = play(network, [(0.0, 60, 0, 2), (2.0, 15, 1, 3)])
    assert ends == {1: 5.0, 0: 7.5}
    links = used(network, 7.5)
    assert links["roce", 0, "out"] == LinkUse("roce", 0, "out", 10.0, 2, 75, 7.5, 3.0)
    # Both cards hold the two up alike: the waiting is counted on one of them, once.
    assert links["roce", 1, "in"] == LinkUse("roce", 1, "in", 10.0, 2, 75, 7.5, 0.0)


def test_two_sources_to_one_target() -> None:
    network = Network(settings(), NODES)
    assert play(network, [(0.0, 30, 0, 4), (0.0, 30, 2, 4)]) == {0: 6.0, 1: 6.0}
    links = used(network, 6.0)
    assert links["roce", 2, "in"] == LinkUse("roce", 2, "in", 10.0, 2, 60, 6.0, 6.0)
    assert links["roce", 0, "out"] == LinkUse("roce", 0, "out", 10.0, 1, 30, 6.0, 0.0)


def test_three_transfers_with_a_bottleneck() -> None:
    """Two leave node 0 and two enter node 2; the one that does both is held to half by either."""
    starts = [(0.0, 50, 0, 2), (0.0, 50, 0, 4), (0.0, 25, 2, 4)]
    # 5 each until the third has its 25 bytes at 5 s; the others share node 0's card to the end.
    assert play(Network(settings(), NODES), starts) == {2: 5.0, 0: 10.0, 1: 10.0}
    # A fourth out of node 0: those three get 10 / 3, and the one into node 2 the 20 / 3 that are left there.
    ends = play(Network(settings(), NODES), [*starts[:2], (0.0, 20, 2, 4), (0.0, 50, 1, 2)])
    assert ends[2] == pytest.approx(3.0)
    assert [ends[i] for i in (0, 1, 3)] == pytest.approx([15.0] * 3)


def test_the_directions_of_a_card_do_not_meet() -> None:
    assert play(Network(settings(), NODES), [(0.0, 30, 0, 2), (0.0, 30, 2, 0)]) == {0: 3.0, 1: 3.0}


def test_nvlink_meets_only_at_a_gpu() -> None:
    """Two pulls from one worker, and one between two others of the same node."""
    network = Network(settings(), (0, 0, 0, 0))
    assert play(network, [(0.0, 300, 0, 1), (0.0, 300, 0, 2), (0.0, 300, 1, 3)]) == {2: 3.0, 0: 6.0, 1: 6.0}
    assert all(use.kind == "nvlink" for use in network.links(6.0))


def test_fifo_serves_in_order() -> None:
    network = Network(settings("fifo"), NODES)
    ends = play(network, [(0.0, 60, 0, 2), (2.0, 15, 1, 3), (2.0, 5, 0, 2), (3.0, 30, 3, 4)])
    assert ends == {0: 6.0, 3: 6.0, 1: 7.5, 2: 8.0}
    links = used(network, 8.0)
    # The second waited from 2 to 6 s, the third from 2 to 7.5.
    assert links["roce", 0, "out"] == LinkUse("roce", 0, "out", 10.0, 3, 80, 8.0, 9.5)
    assert links["roce", 2, "in"] == LinkUse("roce", 2, "in", 10.0, 1, 30, 3.0, 0.0)


def test_fifo_does_not_overtake() -> None:
    """0 -> 4 waits for 2 -> 4; what comes next out of node 0 waits too, though nothing leaves node 0."""
    ends = play(Network(settings("fifo"), NODES), [(0.0, 30, 2, 4), (1.0, 10, 0, 4), (1.0, 10, 0, 2)])
    assert ends == {0: 3.0, 1: 4.0, 2: 5.0}


def test_a_transfer_slows_others_down_only_after_its_set_up() -> None:
    network = Network(settings(latency_s=1.0), NODES)
    network.start(0, 30, 1, 0, 2, now_s=0.0)
    network.start(1, 5, 1, 0, 2, now_s=2.0)
    # Joined at 1 and 3 s; half rate from 3 to 4 s.
    assert [network.finish(t) for t in (3.9, 4.0, 4.4, 4.5)] == [[], [1], [], [0]]


def test_equal_ends_are_in_order_of_id_and_a_late_question_answers_all() -> None:
    network = Network(settings(), NODES)
    for transfer_id in (5, 3):
        network.start(transfer_id, 10, 1, 0, 2, now_s=0.0)
    network.start(9, 10, 1, 2, 4, now_s=0.0)
    # Starting another one brings the network to 20 s; what ended is kept for the next question.
    network.start(1, 0, 1, 0, 2, now_s=20.0)
    assert network.next_s() == 1.0
    assert network.finish(20.0) == [9, 3, 5, 1]


@pytest.mark.parametrize(("target", "took_s"), [(1, 0.0941), (2, 0.7862)])
def test_a_cold_session_of_213k_tokens(target: int, took_s: float) -> None:
    """270 blocks of 26 MB in 16 pieces. 7.08 GB at 120 and 9.3 GB/s take 59 and 761 ms, posting 15 ms."""
    network = Network(NetworkSettings(), NODES)
    network.start(0, 270 * 16 * 1_638_400, 270 * 16, 0, target, now_s=0.0)
    assert network.finish(network.next_s()) == []
    assert network.next_s() == pytest.approx(took_s, abs=5e-5)


# Invariants


workers = st.integers(0, 4)
starts_of = st.lists(
    st.tuples(st.floats(0, 1e6), st.integers(0, 10**11), workers, workers), min_size=1, max_size=12
)
on_one_link = st.lists(
    st.tuples(st.floats(0, 30), st.integers(0, 500), st.just(0), st.just(2)), min_size=1, max_size=10
)
sharings = st.sampled_from(SHARINGS)


@given(sharings, starts_of)
def test_bytes_and_time_are_conserved(sharing: Sharing, starts: list[Start]) -> None:
    network = Network(NetworkSettings(sharing=sharing), NODES)
    ends = play(network, starts)
    assert sorted(ends) == list(range(len(starts)))
    last_s = max(ends.values())
    uses = network.links(last_s)
    for direction in ("out", "in"):
        ours = [use for use in uses if use.direction == direction]
        assert sum(use.n_bytes for use in ours) == sum(n_bytes for _, n_bytes, _, _ in starts)
        assert sum(use.transfers for use in ours) == len(starts)
    for use in uses:
        # No link carries more than it can while it is busy, nor is busy longer than there is time.
        assert use.n_bytes <= use.bandwidth_bytes_per_s * use.busy_s * (1 + 1e-6) + 1e3
        assert use.busy_s <= last_s * (1 + 1e-9)
    waited_s = 0.0
    for i, (when, n_bytes, source, target) in enumerate(starts):
        near = NODES[source] == NODES[target]
        wire = NvlinkSettings() if near else RoceSettings()
        alone_s = wire.latency_s + wire.per_descriptor_s + n_bytes / wire.bandwidth_bytes_per_s
        assert ends[i] >= when + alone_s - 1e-6
        waited_s += ends[i] - when - alone_s
    assert sum(use.waiting_s for use in uses) == pytest.approx(waited_s, abs=1e-6)


@given(sharings, on_one_link)
def test_a_link_is_never_idle_while_there_is_work(sharing: Sharing, starts: list[Start]) -> None:
    network = Network(settings(sharing), NODES)
    last_s = max(play(network, starts).values())
    out = used(network, last_s).get(("roce", 0, "out"))
    n_bytes = sum(size for _, size, _, _ in starts)
    assert out is not None
    assert out.n_bytes == n_bytes
    assert out.busy_s == pytest.approx(n_bytes / 10.0, abs=1e-9)
    # What came last cannot end later than if everything had waited for it.
    assert last_s <= max(when for when, *_ in starts) + n_bytes / 10.0 + 1e-9


@given(on_one_link)
def test_sharing_does_not_change_when_a_link_is_done(starts: list[Start]) -> None:
    fair, fifo = (play(Network(settings(sharing), NODES), starts) for sharing in SHARINGS)
    assert max(fair.values()) == pytest.approx(max(fifo.values()), abs=1e-9)
    in_order = sorted(range(len(starts)), key=lambda i: starts[i][0])
    assert sorted(fifo.values()) == [fifo[i] for i in in_order]


@given(sharings, on_one_link)
def test_another_transfer_speeds_none_up_on_one_link(sharing: Sharing, starts: list[Start]) -> None:
    without = play(Network(settings(sharing), NODES), starts[:-1])
    along = play(Network(settings(sharing), NODES), starts)
    assert all(along[i] >= end_s - 1e-9 for i, end_s in without.items())


@given(sharings, on_one_link, on_one_link)
def test_transfers_on_other_links_change_nothing(
    sharing: Sharing, starts: list[Start], others: list[Start]
) -> None:
    """Not even the last bit."""
    elsewhere = [(when, n_bytes, 3, 4) for when, n_bytes, _, _ in others]
    alone = play(Network(settings(sharing), NODES), starts)
    along = play(Network(settings(sharing), NODES), [*starts, *elsewhere])
    assert alone == {i: end_s for i, end_s in along.items() if i < len(starts)}


@given(sharings, starts_of, st.lists(st.floats(0, 2e6), max_size=5))
def test_ends_are_the_same_again_and_however_often_one_asks(
    sharing: Sharing, starts: list[Start], extra_s: list[float]
) -> None:
    first = play(Network(NetworkSettings(sharing=sharing), NODES), starts)
    again = play(Network(NetworkSettings(sharing=sharing), NODES), starts, extra_s)
    assert list(first.items()) == list(again.items())


def test_a_transfer_that_is_stopped_is_not_counted_even_at_the_instant_of_its_end() -> None:
    network = Network(settings(), (0, 0))
    network.start(7, 100, 1, 0, 1, now_s=0.0)
    network.start(8, 50, 1, 1, 0, now_s=0.0)
    network.cancel(7, now_s=1.0)
    assert network.finish(1.0) == [8]
    assert {use[:3]: (use.transfers, use.n_bytes, use.busy_s) for use in network.links(1.0)} == {
        ("nvlink", 0, "out"): (0, 0, 1.0),
        ("nvlink", 1, "in"): (0, 0, 1.0),
        ("nvlink", 1, "out"): (1, 50, 0.5),
        ("nvlink", 0, "in"): (1, 50, 0.5),
    }
