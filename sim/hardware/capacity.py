"""From GPU memory to KV blocks to sessions: the arithmetic of the talk, line by line.

The pool is what remains of the GPU after weights and runtime. A hybrid model's sequence takes attention
blocks for its tokens, and a block in every state group for each recurrent state it keeps (vLLM 0.28.0).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sim.base.errors import InputError
from sim.base.units import format_bytes
from sim.hardware.model import KERNEL_BLOCK_TOKENS, GpuSettings, ModelSettings
from sim.hardware.parallel import ONE_GPU, Parallel

MAX_BLOCKS = 10_000_000
"""More than any GPU holds: a number above it is a slip of the pen."""
HOST_PAGE_BYTES = 4096
"""vLLM 0.28.0 rounds a block of the CPU tier up to this."""

TALK_SESSION_TOKENS = 213_000
"""Median prompt of the talk's sessions."""


@dataclass(frozen=True, slots=True)
class SessionBlocks:
    """Pool blocks of one session of `tokens` tokens.

    *Cold*: its whole prompt was computed at once and every chunk left a checkpoint of the recurrent state.
    *Grown*: it got there turn by turn and only its newest checkpoint is left. Equal for a plain model.
    """

    tokens: int
    grown: int
    """Idle, grown; also running, for an engine that schedules synchronously."""
    cold: int
    """Idle, cold: the blocks that carry a hash."""
    cold_prefill_sync: int
    """Most it holds while its prompt is computed, scheduling synchronously: two states a group."""
    cold_prefill_async: int
    """The same with asynchronous scheduling, which holds every checkpoint until the request ends."""
    cold_decode_async: int
    """What it holds while it decodes, with asynchronous scheduling."""


@dataclass(frozen=True, slots=True)
class Tier:
    """A place for idle sessions: how many blocks it has and how many sessions stay whole in it."""

    n_bytes: int
    blocks: int
    cold_sessions: int
    grown_sessions: int


@dataclass(frozen=True, slots=True)
class Capacity:
    """The memory of one GPU, divided. Sizes in bytes."""

    model: ModelSettings
    gpu: GpuSettings
    gpu_memory_utilization: float
    usable_bytes: int
    runtime_bytes: int
    pool_bytes: int
    """Derived: usable less weights less runtime. Given blocks: blocks times their size."""
    blocks_given: bool
    num_blocks: int
    """Blocks of the pool as the engine's log counts them; one of them, the null block, holds no tokens."""
    block_tokens: int
    block_bytes: int
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
    def host_block_bytes(self) -> int:
        """A block in host memory, of all GPUs of a rank."""
        return self.block_bytes

    @property
    def host_links(self) -> int:
        """GPUs that each copy an equal part of a block."""
        return 1

    @property
    def pool_tokens(self) -> int:
        """Tokens of a single plain sequence that all blocks together would hold."""
        return self.num_blocks * self.block_tokens


def capacity(
    model: ModelSettings,
    gpu: GpuSettings,
    *,
    gpu_memory_utilization: float = 0.92,
    kv_blocks: int | None = None,
    block_size: int = KERNEL_BLOCK_TOKENS,
    max_num_batched_tokens: int = 8192,
    offload_bytes: Sequence[int] = (),
    session_tokens: int | None = None,
    parallel: Parallel = ONE_GPU,
) -> Capacity:
    """Return how the memory of one GPU is divided, and how many sessions of `session_tokens` fit.

    Args:
        model: the model served on one GPU.
        gpu: the GPU.
        gpu_memory_utilization: share of the GPU's memory the engine may use (vLLM 0.28.0's default).
        kv_blocks: the pool's blocks as an engine's log gives them, instead of deriving them.
        block_size: tokens of a block before a hybrid model's alignment.
        max_num_batched_tokens: the token budget of a step: how far apart a cold prompt's checkpoints are.
        offload_bytes: host memory sizes to answer for.
        session_tokens: length of the sessions to count; unset: the talk's 213,000, or the longest sequence of
            the model if that is shorter.

    Raises:
        InputError: weights and runtime leave no room for the pool (says by how much and what to change), or
            an argument is out of range.

    """
    if not 0 < gpu_memory_utilization <= 1:
        raise InputError(f"gpu_memory_utilization = {gpu_memory_utilization}: must be above 0 and at most 1")
    usable = int(gpu.memory_bytes * gpu_memory_utilization)
    runtime = gpu.cuda_context_bytes + model.peak_activation_bytes + model.cuda_graphs_bytes
    block_tokens, block_bytes = model.block_tokens(block_size), model.block_bytes(block_size)
    if kv_blocks is None:
        pool = usable - model.weights_bytes - runtime
        num_blocks = pool // block_bytes
        if num_blocks < 2:
            raise InputError(
                f"{model.name} does not fit on {gpu.name}: {format_bytes(model.weights_bytes)} of weights, "
                f"{format_bytes(runtime)} of runtime and two KV blocks need "
                f"{format_bytes(2 * block_bytes - pool)} more than the {format_bytes(usable)} usable "
                f"({format_bytes(gpu.memory_bytes)} x gpu_memory_utilization {gpu_memory_utilization}); use "
                "a GPU with more memory, a smaller model or weights_dtype, a higher gpu_memory_utilization "
                "(at most 1), or give kv_blocks as the engine's log has it"
            )
    elif kv_blocks < 2:
        raise InputError(f"kv_blocks = {kv_blocks}: a pool has 2 blocks or more, one of them the null block")
    else:
        pool, num_blocks = kv_blocks * block_bytes, kv_blocks
    if num_blocks > MAX_BLOCKS:
        raise InputError(
            f"{num_blocks:,} KV blocks of {block_tokens} tokens on {gpu.name}: at most {MAX_BLOCKS:,}; check "
            "gpu.memory_bytes and engine.kv_blocks"
        )
    session = _session(model, session_tokens, block_tokens, max_num_batched_tokens)
    free = num_blocks - 1
    longest = sequence_blocks(model.max_model_len, block_tokens, model.state_groups)
    return Capacity(
        model=model,
        gpu=gpu,
        gpu_memory_utilization=gpu_memory_utilization,
        usable_bytes=usable,
        runtime_bytes=runtime,
        pool_bytes=pool,
        blocks_given=kv_blocks is not None,
        num_blocks=num_blocks,
        block_tokens=block_tokens,
        block_bytes=block_bytes,
        max_concurrency=num_blocks / longest,
        session=session,
        idle=Tier(num_blocks * block_bytes, num_blocks, free // session.cold, free // session.grown),
        running_cold_sync=_at_once(free, session.cold_prefill_sync, session.grown),
        running_cold_async=_at_once(free, session.cold_prefill_async, session.cold_decode_async),
        host=tuple(_host_tier(n_bytes, block_bytes, session) for n_bytes in offload_bytes),
    )


def sequence_blocks(tokens: int, block_tokens: int, state_groups: int) -> int:
    """Return the blocks that vLLM 0.28.0 counts for one running sequence: two states in every group."""
    return -(-tokens // block_tokens) + 2 * state_groups


def session_blocks(
    tokens: int, block_tokens: int, state_groups: int, max_num_batched_tokens: int
) -> SessionBlocks:
    """Return the blocks of a session (vLLM 0.28.0, align mode).

    A lone cold prompt is computed in chunks of whole blocks within the token budget. Each chunk's end is a
    checkpoint in every state group, the last one at the prompt's last block boundary; a partial block after
    it has a state of its own but no hash.
    """
    attention = -(-tokens // block_tokens)
    if not state_groups:
        return SessionBlocks(tokens, *[attention] * 5)
    chunk_blocks = max(max_num_batched_tokens // block_tokens, 1)
    full_blocks = tokens // block_tokens
    checkpoints = -(-full_blocks // chunk_blocks)
    states = checkpoints + (1 if tokens % block_tokens else 0)
    # Chunks of one block leave no gap between states; only then does an asynchronous engine free old ones.
    kept = checkpoints if chunk_blocks > 1 else 1
    return SessionBlocks(
        tokens=tokens,
        grown=attention + state_groups,
        cold=full_blocks + checkpoints * state_groups,
        cold_prefill_sync=attention + min(states, 2) * state_groups,
        cold_prefill_async=attention + (states if chunk_blocks > 1 else min(states, 3)) * state_groups,
        cold_decode_async=attention + kept * state_groups,
    )


def _session(
    model: ModelSettings, tokens: int | None, block_tokens: int, max_num_batched_tokens: int
) -> SessionBlocks:
    name = "session_tokens"
    if tokens is None:
        name, tokens = "max_model_len", min(TALK_SESSION_TOKENS, model.max_model_len)
    if tokens < block_tokens:
        raise InputError(
            f"{name} = {tokens}: a session shorter than a block, here {block_tokens} tokens, leaves "
            "nothing in the cache to count"
        )
    return session_blocks(tokens, block_tokens, model.state_groups, max_num_batched_tokens)


def cpu_blocks(offload_bytes: int, block_bytes: int) -> int:
    """Return the blocks that a CPU tier of this size holds (vLLM 0.28.0, one GPU block to a chunk)."""
    return offload_bytes // (-(-block_bytes // HOST_PAGE_BYTES) * HOST_PAGE_BYTES)


def _host_tier(offload_bytes: int, block_bytes: int, session: SessionBlocks) -> Tier:
    blocks = cpu_blocks(offload_bytes, block_bytes)
    return Tier(offload_bytes, blocks, blocks // session.cold, blocks // session.grown)


def _at_once(free: int, prefill: int, decode: int) -> int:
    """Return how many sessions run together when one is in prefill and the others decode."""
    return 1 + (free - prefill) // decode if free >= prefill else 0
