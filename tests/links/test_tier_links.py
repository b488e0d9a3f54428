from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.engine.transfer_job import TransferJob
from sim.kv.offload import LruTier
from sim.links.tier import Tier
from sim.links.tier_links import TierLinks
from sim.links.transfer import LinkSettings, Outage


def job(number, blocks, *, load=False, tier="host"):
    return TransferJob(number, 0, load, {(block, 0): block for block in range(blocks)}, {}, tier)


def tier(name, link, pieces_per_block, **settings):
    way = LinkSettings(**{"bandwidth_bytes_per_s": 100, "latency_s": 0, "per_piece_s": 0} | settings)
    return Tier(name, LruTier, 10, way, way, None, link, pieces_per_block)


def link(**settings):
    return TierLinks([tier("host", "pcie", 4, **settings)], 50)


def test_a_job_takes_the_time_of_all_its_blocks():
    assert link().submit(job(0, 10), 3.0) == 8.0


def test_every_block_comes_in_pieces_and_every_job_has_a_latency():
    slow = link(latency_s=0.25, per_piece_s=0.125)
    assert slow.submit(job(0, 2), 0.0) == 0.25 + 8 * 0.125 + 1.0


def test_a_direction_is_a_stream_and_the_two_do_not_wait_for_each_other():
    both = link()
    assert [both.submit(job(n, 2), 0.0) for n in range(2)] == [1.0, 2.0]
    assert both.submit(job(2, 2, load=True), 0.5) == 1.5
    assert both.submit(job(3, 2), 5.0) == 6.0


def test_jobs_are_reported_once_in_order_of_their_ends():
    both = link()
    both.submit(job(0, 6), 0.0)
    both.submit(job(1, 2, load=True), 0.0)
    both.submit(job(2, 2, load=True), 0.0)
    assert both.next_s() == 1.0
    assert both.take_done(0.999) == []
    assert both.take_done(1.0) == [1]
    assert both.take_done(3.0) == [2, 0]
    assert both.take_done(9.0) == []
    assert both.next_s() == inf


def test_jobs_that_end_together_are_reported_by_number():
    both = link()
    both.submit(job(5, 2, load=True), 0.0)
    both.submit(job(3, 2), 0.0)
    assert both.take_done(1.0) == [3, 5]


def test_changes_count_what_is_submitted_and_what_is_reported():
    both = link()
    seen = [both.changes]
    both.submit(job(0, 2), 0.0)
    seen.append(both.changes)
    both.take_done(0.5)
    seen.append(both.changes)
    both.take_done(1.0)
    seen.append(both.changes)
    assert seen == [0, 1, 1, 2]


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans(), st.floats(0, 10)), max_size=20))
def test_every_job_is_reported_at_its_end_and_no_earlier(jobs):
    both, ends = link(), {}
    for number, (blocks, load, start_s) in enumerate(sorted(jobs, key=lambda entry: entry[2])):
        ends[number] = both.submit(job(number, blocks, load=load), start_s)
        assert ends[number] >= start_s + blocks / 2 - 1e-9
    while ends:
        now_s = both.next_s()
        assert now_s == min(ends.values())
        done = both.take_done(now_s)
        assert done == sorted(number for number, end_s in ends.items() if end_s == now_s)
        for number in done:
            del ends[number]
    assert both.next_s() == pytest.approx(inf)


def test_what_is_under_way_when_its_process_ends_is_not_carried():
    """Of three jobs of a second each one is done, one is half done, one waits; a fourth starts far ahead."""
    both = link()
    for number in range(3):
        both.submit(job(number, 2), 0.0)
    both.submit(job(3, 2, load=True), 10.0)
    both.cut(1.5)
    assert [(stream.jobs, stream.n_bytes, stream.busy_s) for stream in both.streams["host"][:2]] == [
        (1, 100, 1.5),
        (0, 0, 0.0),
    ]
    assert both.take_done(99.0) == []
    assert both.submit(job(0, 2), 2.0) == 3.0


def test_a_job_moves_nothing_while_its_link_is_out():
    outages = {"pcie": [Outage(0.25, 1.25)]}
    both = TierLinks([tier("host", "pcie", 4), tier("disk", "nvme", 1)], 50, outages)
    assert both.submit(job(0, 2), 0.0) == 2.0
    both.cut(1.5)
    assert (both.streams["host"].down.jobs, both.streams["host"].down.busy_s) == (0, 0.5)
    assert both.submit(job(1, 2, tier="disk"), 0.0) == 1.0


def test_every_tier_has_streams_and_pieces_of_its_own():
    both = TierLinks([tier("host", "pcie", 4), tier("disk", "nvme", 1, per_piece_s=0.5)], 50)
    assert both.submit(job(0, 2), 0.0) == 1.0
    assert both.submit(job(1, 2, tier="disk"), 0.0) == 2.0
    assert both.submit(job(2, 2, load=True, tier="disk"), 0.0) == 2.0
    assert both.take_done(2.0) == [0, 1, 2]
