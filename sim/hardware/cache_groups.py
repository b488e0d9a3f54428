"""The cache groups that vLLM 0.28.0 makes of a model's layers (`v1/core/kv_cache_utils.py`).

Layers of one kind are a bucket. Pages, the blocks of one layer, are made equal: a smaller page gets more
tokens, a recurrent state's is padded. Buckets are dealt into groups of as many layers as the smallest bucket
has (the largest, if that is less than 1.5 times as many), and every group draws blocks of that many pages
from one pool.
"""

from typing import NamedTuple

from sim.base.errors import InputError
from sim.base.words import exactly, format_bytes
from sim.hardware.cache_page import latent_or_heads_bytes, state_bytes, windowed_bytes
from sim.hardware.layers import Stage, layers_of, stages
from sim.hardware.parallel import ONE_GPU, Parallel
from sim.hardware.shape import ModelShape
from sim.hardware.tensor_share import tensor_share
from sim.kv.group_spec import GroupSpec, full_group

KERNEL_BLOCK_TOKENS = 16
"""vLLM 0.28.0's default block; a hybrid model's block is a multiple of it, for its attention kernels."""
LATENT_ALIGNMENT_TOKENS = 128
"""What a hybrid model's block is a multiple of where its attention is latent."""


class CacheGroup(NamedTuple):
    """Layers that share their blocks."""

    spec: GroupSpec
    layers: int
    """Over all stages of a pipeline."""


class CacheLayout(NamedTuple):
    """The groups of an engine and the blocks that they draw."""

    groups: tuple[CacheGroup, ...]
    """In order of group id."""
    page_bytes: int
    """Of a block in one layer on one GPU."""
    pages: tuple[int, ...]
    """Of a block on a GPU of each stage of the pipeline: the layers that the largest group has there."""

    @property
    def block_bytes(self) -> int:
        """Of a block on the GPU that has most of it."""
        return self.page_bytes * max(self.pages)

    def bytes_on(self, stage: int) -> int:
        """Return the bytes of a block on a GPU of a stage."""
        return self.page_bytes * self.pages[stage]

    @property
    def specs(self) -> tuple[GroupSpec, ...]:
        """What the block pool is told of the groups."""
        return tuple(group.spec for group in self.groups)

    @property
    def block_tokens(self) -> int:
        """Tokens of a block of the full-attention group; without one, of the first."""
        return self.specs[full_group(self.specs) or 0].block_tokens


class _Bucket(NamedTuple):
    """Layers with equal caches."""

    spec: GroupSpec
    layers: tuple[int, ...]
    """Their numbers in the model."""


def cache_groups(
    model: ModelShape,
    block_size: int = KERNEL_BLOCK_TOKENS,
    parallel: Parallel = ONE_GPU,
    state_step_tokens: int = KERNEL_BLOCK_TOKENS,
) -> tuple[GroupSpec, ...]:
    """Return the groups in order of group id; arguments and errors are those of `cache_layout`."""
    return cache_layout(model, block_size, parallel, state_step_tokens).specs


def cache_layout(
    model: ModelShape,
    block_size: int = KERNEL_BLOCK_TOKENS,
    parallel: Parallel = ONE_GPU,
    state_step_tokens: int = KERNEL_BLOCK_TOKENS,
) -> CacheLayout:
    """Return the groups of an engine with `--block-size block_size`.

    `state_step_tokens`: what a hybrid model's block is a multiple of (`sim.hardware.gdn_kernel`).

    Raises:
        InputError: pages of two kinds of layers cannot be made equal.

    """
    buckets, page_bytes = _buckets(model, block_size, parallel, state_step_tokens)
    sizes = [len(bucket.layers) for bucket in buckets]
    size = max(sizes) if max(sizes) < 1.5 * min(sizes) else min(sizes)
    dealt = []
    for bucket in buckets:
        n_groups = -(-len(bucket.layers) // size)
        dealt += [(bucket.spec, bucket.layers[i::n_groups]) for i in range(n_groups)]
    return CacheLayout(
        tuple(CacheGroup(spec, len(layers)) for spec, layers in dealt),
        page_bytes,
        _pages([layers for _, layers in dealt], stages(model, parallel.pipeline), size),
    )


def _pages(groups: list[tuple[int, ...]], of: tuple[Stage, ...], size: int) -> tuple[int, ...]:
    """Return the layers that the largest group has on each stage."""
    if len(of) == 1:
        return (size,)
    found, start = [], 0
    for stage in of:
        here = range(start, start + len(stage.layers))
        found.append(max(sum(layer in here for layer in group) for group in groups))
        start = here.stop
    return tuple(found)


def _buckets(
    model: ModelShape, block_size: int, parallel: Parallel, step_tokens: int
) -> tuple[list[_Bucket], int]:
    """Return the kinds of layers in order of their first one, and the bytes of a page of all of them."""
    share = tensor_share(model, parallel)
    full_bytes, window_bytes = latent_or_heads_bytes(share), windowed_bytes(share)
    layers: dict[str, list[int]] = {}
    for i, layer in enumerate(layers_of(model)):
        if layer.mixer:
            layers.setdefault(layer.mixer, []).append(i)
    kinds = {name: tuple(numbers) for name, numbers in layers.items()}
    if "windowed" in kinds:
        assert model.windows is not None
        full, windowed, page = _equal_pages(model, block_size, full_bytes, window_bytes, kinds)
        specs = {
            "full": GroupSpec("full", full),
            "windowed": GroupSpec(model.windows.kind, windowed, model.windows.tokens),
        }
    else:
        tokens = block_size
        if model.state_layers:
            tokens = _holding_a_state(model, share, block_size, step_tokens)
        page = tokens * full_bytes
        specs = dict.fromkeys(("linear", "mamba"), GroupSpec("recurrent", tokens)) | {
            "full": GroupSpec("full", tokens)
        }
    return [_Bucket(specs[name], numbers) for name, numbers in kinds.items()], page


def _holding_a_state(model: ModelShape, share: ModelShape, block_size: int, step_tokens: int) -> int:
    """Return the tokens of a block whose attention page holds a recurrent state."""
    step = max(block_size, LATENT_ALIGNMENT_TOKENS) if model.latent else step_tokens
    needed = step * -(-state_bytes(share) // (step * latent_or_heads_bytes(share)))
    return max(block_size, needed)


def _equal_pages(
    model: ModelShape, block_size: int, full_bytes: int, window_bytes: int, kinds: dict[str, tuple[int, ...]]
) -> tuple[int, int, int]:
    """Return the tokens of a block of full and of windowed layers, and the bytes of a page of both."""
    if "full" not in kinds:
        return block_size, block_size, block_size * window_bytes
    large, small = max(full_bytes, window_bytes), min(full_bytes, window_bytes)
    if large % small:
        raise InputError(
            f"{model.name}: page size is not divisible by the maximum page size and cannot be padded: a "
            f"block of {exactly(block_size, 'token')} takes {format_bytes(block_size * full_bytes)} in a "
            f"full-attention layer and {format_bytes(block_size * window_bytes)} in a windowed one; take "
            "another tensor_parallel"
        )
    longer = block_size * (large // small)
    tokens = (longer, block_size) if full_bytes < window_bytes else (block_size, longer)
    return *tokens, block_size * large
