"""Links: how long copies take, one after another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.links.transfer import LinkSettings, Stream

BLOCK_BYTES = 16 * 1_638_400
PIECES = 16

jobs = st.lists(
    st.tuples(st.integers(0, 10**10), st.integers(1, 10_000), st.floats(0, 10)), min_size=1, max_size=20
)


def test_settings_take_human_units() -> None:
    link = LinkSettings.model_validate(
        {"bandwidth_bytes_per_s": "100Gbps", "latency_s": "10ms", "per_piece_s": "3.5us"}
    )
    assert link == LinkSettings(bandwidth_bytes_per_s=12.5e9, latency_s=0.01, per_piece_s=3.5e-6)


def test_one_job_by_hand() -> None:
    stream = Stream(LinkSettings(bandwidth_bytes_per_s=1000.0, latency_s=2.0, per_piece_s=0.5))
    assert stream.submit(n_bytes=4000, pieces=6, now_s=10.0) == 10.0 + 2.0 + 3.0 + 4.0
    assert (stream.n_bytes, stream.busy_s, stream.waited_s) == (4000, 9.0, 0.0)


def test_jobs_of_a_stream_run_one_after_another() -> None:
    stream = Stream(LinkSettings(bandwidth_bytes_per_s=1000.0, latency_s=0.0, per_piece_s=0.0))
    assert stream.submit(3000, 1, now_s=0.0) == 3.0
    assert stream.submit(1000, 1, now_s=1.0) == 4.0
    assert stream.waited_s == 2.0
    assert stream.submit(1000, 1, now_s=9.0) == 10.0
    assert stream.waited_s == 2.0
    assert stream.busy_s == 5.0


def test_a_flush_waits_for_what_is_left_on_the_stream() -> None:
    stream = Stream(LinkSettings(bandwidth_bytes_per_s=1000.0, latency_s=0.0, per_piece_s=0.0))
    assert stream.remaining_s(0.0) == 0.0
    stream.submit(3000, 1, now_s=1.0)
    stream.submit(2000, 1, now_s=1.5)
    assert stream.remaining_s(2.0) == 4.0
    assert stream.remaining_s(6.0) == 0.0
    assert stream.remaining_s(7.0) == 0.0


def test_directions_do_not_wait_for_each_other() -> None:
    link = LinkSettings()
    to_gpu, to_host = Stream(link), Stream(link)
    to_gpu.submit(10**10, 1, now_s=0.0)
    assert to_host.submit(10**9, 1, now_s=0.0) == pytest.approx(0.02, rel=1e-3)


def test_reload_of_a_213k_session() -> None:
    """266 attention blocks and 3 of state over PCIe 5.0: 7.05 GB in about 0.14 s."""
    n_bytes = 269 * BLOCK_BYTES
    assert n_bytes == pytest.approx(7.05e9, rel=1e-3)
    assert Stream(LinkSettings()).submit(n_bytes, 269 * PIECES, now_s=0.0) == pytest.approx(0.14, abs=0.005)


@pytest.mark.parametrize(("piece_kib", "low", "high"), [(28, 27.5, 44.1), (64, 38.8, 51.8)])
def test_measured_rates_of_small_pieces(piece_kib: int, low: float, high: float) -> None:
    """Batched copies of 10K to 100K pieces to an H100 reached these GB/s (vLLM pull request 42212)."""
    n_bytes = 50_000 * piece_kib * 1024
    took_s = Stream(LinkSettings()).submit(n_bytes, 50_000, now_s=0.0)
    assert low <= n_bytes / took_s / 1e9 <= high


def test_ten_blocks_take_the_time_of_ten() -> None:
    """A known fault elsewhere: a batch of evictions priced as one block."""
    link = LinkSettings(latency_s=0.0)
    one = Stream(link).submit(BLOCK_BYTES, PIECES, now_s=0.0)
    ten = Stream(link).submit(10 * BLOCK_BYTES, 10 * PIECES, now_s=0.0)
    assert ten == pytest.approx(10 * one, rel=1e-12)


def test_bytes_are_bytes() -> None:
    """A known fault elsewhere: a size in bytes multiplied again by the bytes of a unit."""
    stream = Stream(LinkSettings(bandwidth_bytes_per_s=50e9, latency_s=0.0, per_piece_s=0.0))
    assert stream.submit(50 * 10**9, 1, now_s=0.0) == 1.0
    assert stream.n_bytes == 50 * 10**9


@given(jobs)
def test_streams_conserve_bytes_and_time(submitted: list[tuple[int, int, float]]) -> None:
    stream = Stream(LinkSettings())
    now_s = waited_s = 0.0
    for n_bytes, pieces, gap_s in submitted:
        now_s += gap_s
        before_s = stream.busy_until_s
        done_s = stream.submit(n_bytes, pieces, now_s)
        took_s = stream.duration_s(n_bytes, pieces)
        waited_s += max(0.0, before_s - now_s)
        assert done_s == stream.busy_until_s == max(now_s, before_s) + took_s
        assert stream.remaining_s(now_s) == done_s - now_s
    assert stream.n_bytes == sum(n_bytes for n_bytes, _, _ in submitted)
    assert stream.busy_s == pytest.approx(sum(stream.duration_s(size, n) for size, n, _ in submitted))
    assert stream.waited_s == pytest.approx(waited_s)
    assert stream.busy_s <= stream.busy_until_s * (1 + 1e-12)
    assert 0 <= stream.utilisation(now_s) <= 1 + 1e-9
    assert stream.utilisation(stream.busy_until_s + 1) < 1


def test_utilisation_by_hand() -> None:
    stream = Stream(LinkSettings(bandwidth_bytes_per_s=1000.0, latency_s=0.0, per_piece_s=0.0))
    assert stream.utilisation(0.0) == 0.0
    stream.submit(4000, 1, now_s=2.0)
    assert stream.utilisation(4.0) == 0.5
    assert stream.utilisation(8.0) == 0.5
