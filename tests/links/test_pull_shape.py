"""What a decode engine reads for a block, and which engines vLLM 0.28.0 joins."""

import pytest

from sim.base.errors import InputError
from sim.hardware.parallel import ONE_GPU, Parallel
from sim.links.pull_shape import PullShape, check_pull, pull_shape

TWO, FOUR, EIGHT = Parallel(tensor=2), Parallel(tensor=4), Parallel(tensor=8)


def test_every_decode_gpu_reads_its_share() -> None:
    # 1,024 bytes a block over two KV heads: 512 on each of two GPUs.
    assert pull_shape(ONE_GPU, ONE_GPU, block_bytes=1024, layers=10, shared=False) == PullShape(1024, 10)
    assert pull_shape(ONE_GPU, TWO, block_bytes=512, layers=10, shared=False) == PullShape(1024, 10)


def test_from_more_ranks_each_reads_from_several() -> None:
    assert pull_shape(FOUR, TWO, block_bytes=512, layers=10, shared=False) == PullShape(1024, 20)
    assert pull_shape(FOUR, ONE_GPU, block_bytes=1024, layers=10, shared=False) == PullShape(1024, 40)


def test_what_all_hold_alike_is_read_whole_by_each_from_one() -> None:
    assert pull_shape(FOUR, TWO, block_bytes=576, layers=61, shared=True) == PullShape(1152, 61)


def test_what_the_connector_joins() -> None:
    for prefill, decode in ((TWO, EIGHT), (EIGHT, TWO), (FOUR, FOUR)):
        check_pull(prefill, decode, kv_heads=8, splits_heads=True)
    # Replicated heads are fine as long as the decode engine has as many ranks, and for MLA.
    check_pull(EIGHT, EIGHT, kv_heads=4, splits_heads=True)
    check_pull(EIGHT, FOUR, kv_heads=1, splits_heads=False)


@pytest.mark.parametrize(
    ("prefill", "decode", "message"),
    [
        (Parallel(pipeline=2), ONE_GPU, "pipeline_parallel = 2: .* joins no engines with pipeline stages"),
        (Parallel(tensor=3), TWO, "tensor parallel size 3 is not divisible by 2"),
        (EIGHT, FOUR, "does not pull from more tensor ranks than the model has KV heads, 4, into fewer"),
    ],
)
def test_what_it_does_not_join_is_refused(prefill: Parallel, decode: Parallel, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_pull(prefill, decode, kv_heads=4, splits_heads=True)
