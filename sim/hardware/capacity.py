"""From GPU memory to KV blocks to sessions: the arithmetic of the talk, line by line.

The pool is what remains of a GPU after weights and runtime, and of the GPUs of an engine the one with least
room counts. A hybrid model's sequence takes attention blocks for its tokens, and a block in every state group
for each recurrent state it keeps; one of a windowed model takes what its windows read (vLLM 0.28.0).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sim.base.errors import InputError
from sim.base.words import exactly, format_bytes
from sim.hardware.layers import stages
from sim.hardware.model import KERNEL_BLOCK_TOKENS, GpuSettings, ModelSettings
from sim.hardware.parallel import ONE_GPU, Parallel
from sim.hardware.runtime_memory import ACCOUNTS, RELEASE, Runtime, runtime
from sim.hardware.session_blocks import SessionBlocks, longest_blocks, session_of
from sim.hardware.sharding import GpuShare, Sharded, check_parallel, sharded
from sim.kv.state_rules import ALL_KEPT, StateRules

MAX_BLOCKS = 10_000_000
"""More than any GPU holds: a number above it is a slip of the pen."""
HOST_PAGE_BYTES = 4096
"""vLLM 0.28.0 rounds a block of the CPU tier up to this."""

TALK_SESSION_TOKENS = 213_000
"""Median prompt of the talk's sessions."""


@dataclass(frozen=True, slots=True)
class Tier:
    """A place for idle sessions: how many blocks it has and how many sessions stay whole in it."""

    n_bytes: int
    blocks: int
    cold_sessions: int
    grown_sessions: int


@dataclass(frozen=True, slots=True)
class Capacity:
    """The memory of one engine, divided. Sizes in bytes, on the GPU with least room for blocks."""

    model: ModelSettings
    gpu: GpuSettings
    gpu_memory_utilization: float
    usable_bytes: int
    engine: Sharded
    """What each GPU holds."""
    share: GpuShare
    """What the GPU with least room holds."""
    runtime: Runtime
    """What it takes beside weights and KV cache."""
    pool_bytes: int
    """Derived: usable less weights less runtime. Given blocks: blocks times their size."""
    blocks_given: bool
    num_blocks: int
    """Blocks of the pool as the engine's log counts them; one of them, the null block, holds no tokens."""
    block_tokens: int
    block_bytes: int
    in_flight_tokens: int
    """Tokens that may be scheduled but not yet computed."""
    state_blocks: int
    """Blocks that the engine counts for a sequence in each group of recurrent states."""
    longest_blocks: int
    """Blocks that the engine counts for a sequence of the model's greatest length."""
    max_concurrency: float
    """Sequences of the model's greatest length that fit, as the engine's log says it."""
    session: SessionBlocks
    idle: Tier
    """Idle sessions in the GPU's prefix cache."""
    running_cold_sync: int
    """Cold sessions that run at once, scheduling synchronously."""
    running_cold_async: int
    host: tuple[Tier, ...]
    """One entry for each offload size asked about."""

    @property
    def pool_tokens(self) -> int:
        """Tokens of a single plain sequence that all blocks together would hold."""
        return self.num_blocks * self.block_tokens

    @property
    def host_block_bytes(self) -> int:
        """A block in host memory, of all GPUs of a rank (vLLM 0.28.0, `v1/kv_offload/cpu/spec.py`).

        Latent caches are equal on all tensor ranks: without pipeline stages there is one copy.
        """
        return host_block_bytes(self.engine)

    @property
    def block_layers(self) -> int:
        """Layers that have a page in a block, on the GPU with most of them."""
        return max(self.engine.layout.pages)

    @property
    def host_links(self) -> int:
        """GPUs that each copy an equal part of a block between their memory and the host's."""
        return 1 if self.engine.one_copy else self.engine.parallel.gpus_per_rank

    @property
    def runtime_bytes(self) -> int:
        """What a GPU takes beside weights and KV cache."""
        return self.runtime.total


def capacity(
    model: ModelSettings,
    gpu: GpuSettings,
    *,
    gpu_memory_utilization: float = 0.92,
    kv_blocks: int | None = None,
    block_size: int = KERNEL_BLOCK_TOKENS,
    max_num_batched_tokens: int = 8192,
    max_num_seqs: int = 1024,
    async_scheduling: bool = True,
    offload_bytes: Sequence[int] = (),
    session_tokens: int | None = None,
    parallel: Parallel = ONE_GPU,
    release: str = RELEASE,
    states: StateRules = ALL_KEPT,
    state_step_tokens: int = KERNEL_BLOCK_TOKENS,
) -> Capacity:
    """Return how the memory of an engine is divided, and how many sessions of `session_tokens` fit.

    Args:
        model: the model served by one engine.
        gpu: its GPUs.
        gpu_memory_utilization: share of a GPU's memory the engine may use (vLLM 0.28.0's default).
        kv_blocks: the pool's blocks as an engine's log gives them, instead of deriving them.
        block_size: tokens of a block before a hybrid model's alignment.
        max_num_batched_tokens: the token budget of a step: how far apart a cold prompt's checkpoints are.
        max_num_seqs: the most sequences of a step.
        async_scheduling: whether two steps may be on their way.
        offload_bytes: host memory sizes to answer for.
        session_tokens: length of the sessions to count; unset: the talk's 213,000, or the longest sequence of
            the model if that is shorter.
        parallel: how the engine is spread over GPUs; of data-parallel ranks, one is counted.
        release: of vLLM, whose way of counting working memory applies.
        states: what the engine does with recurrent states.
        state_step_tokens: what a hybrid model's block is a multiple of.

    Raises:
        InputError: weights and runtime leave no room for the pool (says by how much and what to change), the
            sizes do not go together (`check_parallel`), or an argument is out of range.

    """
    if not 0 < gpu_memory_utilization <= 1:
        raise InputError(f"gpu_memory_utilization = {gpu_memory_utilization}: must be above 0 and at most 1")
    if release not in ACCOUNTS:
        raise InputError(f"vLLM {release}: its working memory is not known; known: {', '.join(ACCOUNTS)}")
    check_parallel(model, gpu, parallel)
    engine = sharded(model, parallel, block_size, state_step_tokens)
    taken = [
        runtime(
            *(model, gpu, parallel, stage),
            max_num_batched_tokens=max_num_batched_tokens,
            max_num_seqs=max_num_seqs,
            release=release,
        )
        for stage in stages(model, parallel.pipeline)
    ]
    usable = int(gpu.memory_bytes * gpu_memory_utilization)
    tightest = min(range(len(taken)), key=lambda stage: _blocks_on(engine, taken, usable, stage))
    share, layout = engine.shares[tightest], engine.layout
    block_tokens, block_bytes = layout.block_tokens, layout.bytes_on(tightest) or layout.block_bytes
    if kv_blocks is None:
        pool = usable - share.weights_bytes - taken[tightest].total
        num_blocks = pool // block_bytes
        if num_blocks < 2:
            raise _too_small(model, gpu, gpu_memory_utilization, share, taken[tightest], block_bytes)
    elif kv_blocks < 2:
        raise InputError(f"kv_blocks = {kv_blocks}: a pool has 2 blocks or more, one of them the null block")
    else:
        pool, num_blocks = kv_blocks * block_bytes, kv_blocks
    if num_blocks > MAX_BLOCKS:
        raise InputError(
            f"{exactly(num_blocks, 'KV block')} of {exactly(block_tokens, 'token')} on {gpu.name}: at most "
            f"{MAX_BLOCKS:,}; check "
            "gpu.memory_bytes and engine.kv_blocks"
        )
    session = _session(model, session_tokens, engine, max_num_batched_tokens, states)
    free, in_flight = num_blocks - 1, (1 + async_scheduling) * max_num_batched_tokens
    longest = longest_blocks(layout.specs, model.max_model_len, in_flight, states.blocks_at_most)
    return Capacity(
        model=model,
        gpu=gpu,
        gpu_memory_utilization=gpu_memory_utilization,
        usable_bytes=usable,
        engine=engine,
        share=share,
        runtime=taken[tightest],
        pool_bytes=pool,
        blocks_given=kv_blocks is not None,
        num_blocks=num_blocks,
        block_tokens=block_tokens,
        block_bytes=block_bytes,
        in_flight_tokens=in_flight,
        state_blocks=states.blocks_at_most,
        longest_blocks=longest,
        max_concurrency=num_blocks / longest,
        session=session,
        idle=Tier(num_blocks * block_bytes, num_blocks, free // session.cold, free // session.grown),
        running_cold_sync=_at_once(free, session.cold_prefill_sync, session.grown),
        running_cold_async=_at_once(free, session.cold_prefill_async, session.cold_decode_async),
        host=tuple(_host_tier(n_bytes, host_block_bytes(engine), session) for n_bytes in offload_bytes),
    )


def _blocks_on(engine: Sharded, taken: Sequence[Runtime], usable: int, stage: int) -> float:
    """Return how many blocks a GPU of a stage has room for; a stage without a cache has room for all."""
    size = engine.layout.bytes_on(stage)
    room = usable - engine.shares[stage].weights_bytes - taken[stage].total
    return room / size if size else float("inf")


def _too_small(  # noqa: PLR0917 - all that the refusal says
    model: ModelSettings,
    gpu: GpuSettings,
    utilization: float,
    share: GpuShare,
    taken: Runtime,
    block_bytes: int,
) -> InputError:
    usable = int(gpu.memory_bytes * utilization)
    lack = share.weights_bytes + taken.total + 2 * block_bytes - usable
    on = gpu.name if share.weights_bytes == model.weights_bytes else f"one {gpu.name} of the engine"
    return InputError(
        f"{model.name} does not fit on {on}: {format_bytes(share.weights_bytes)} of weights, "
        f"{format_bytes(taken.total)} of runtime and two KV blocks need "
        f"{format_bytes(lack)} more than the {format_bytes(usable)} usable "
        f"({format_bytes(gpu.memory_bytes)} x gpu_memory_utilization {utilization}); use "
        "a GPU with more memory, more workers.tensor_parallel, a smaller model or weights_dtype, a higher "
        "gpu_memory_utilization (at most 1), or give kv_blocks as the engine's log has it"
    )


def _session(
    model: ModelSettings,
    tokens: int | None,
    engine: Sharded,
    max_num_batched_tokens: int,
    states: StateRules,
) -> SessionBlocks:
    name, block_tokens = "session_tokens", engine.layout.block_tokens
    if tokens is None:
        name, tokens = "max_model_len", min(TALK_SESSION_TOKENS, model.max_model_len)
    if tokens < block_tokens:
        raise InputError(
            f"{name} = {tokens}: a session shorter than a block, here {exactly(block_tokens, 'token')}, "
            "leaves "
            "nothing in the cache to count"
        )
    return session_of(engine.layout.specs, tokens, max_num_batched_tokens, states)


def host_block_bytes(engine: Sharded) -> int:
    """Return what a block takes in host memory, of all GPUs of a rank."""
    layout = engine.layout
    if engine.one_copy:
        return layout.block_bytes
    stages_bytes = sum(layout.bytes_on(stage) for stage in range(len(layout.pages)))
    return stages_bytes * engine.parallel.tensor


def cpu_blocks(offload_bytes: int, block_bytes: int) -> int:
    """Return the blocks that a CPU tier of this size holds (vLLM 0.28.0, one GPU block to a chunk)."""
    return offload_bytes // (-(-block_bytes // HOST_PAGE_BYTES) * HOST_PAGE_BYTES)


def _host_tier(offload_bytes: int, block_bytes: int, session: SessionBlocks) -> Tier:
    blocks = cpu_blocks(offload_bytes, block_bytes)
    return Tier(offload_bytes, blocks, blocks // session.cold, blocks // session.grown)


def _at_once(free: int, prefill: int, decode: int) -> int:
    """Return how many sessions run together when one is in prefill and the others decode."""
    return 1 + (free - prefill) // decode if free >= prefill else 0
