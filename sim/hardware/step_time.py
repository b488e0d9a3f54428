"""How long an engine step takes.

One step computes prefill chunks (`new` tokens on a prefix of tokens already computed) and one token for each
decoding sequence. Its time is a sum of resources:

    smooth_max_p(t_floor, c_tok * tokens)      weights read, or dense layers computed: tokens in whole tiles
    + c_seq * sequences + c_step
    + c_kv * context of the decodes            attention of decodes reads their KV cache
    + a_pair * sum of new * (prefix + new / 2) attention of prefills pairs every token with all before it
    + c_pf + c_mixed * context of the decodes  of a step with prefill: another kernel

and no less than t_launch, in which the host launches its kernels while the GPU computes.

With tiles of 128, 1,030 tokens take as long as 1,152. With p = 1 reading and computing add up, with an
infinite p the longer of them counts. Where a `DenseTable` is given, its times stand in place of the smooth
maximum.
"""

from collections.abc import Sequence
from math import inf
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sim.base.bounds import Count
from sim.base.settings import Settings
from sim.base.units import Seconds
from sim.hardware.dense_table import DenseCurve, DenseTable
from sim.hardware.model import AchievedShares, GpuSettings, ModelSettings
from sim.hardware.parallel import ONE_GPU, Parallel

SMOOTH_MAX_P = {"fp8": 1.61, "fp8_block": 1.61} | dict.fromkeys(
    ("bf16", "fp16", "mxfp4", "nvfp4", "int4"), 3.6
)
"""Exponent by format of the weights: fits to the H100 kernel tables of NVIDIA AISimulate 0.13."""

ALL_REDUCE_S, ALL_REDUCE_BYTES_PER_S = 4.5e-6, 112e9
"""Adding up the parts of a layer's output over 2 to 8 GPUs: 3.9 to 5.7 us of 64 KiB, 277 to 326 us of 32 MiB,
on one H100 node under vLLM 0.31 (tables of NVIDIA AISimulate 0.13)."""


class StepCoefficients(Settings):
    """The numbers of the step-time law for one model on one GPU."""

    t_floor_s: Seconds
    """Reading the weights once: the shortest step."""
    c_tok_s_per_token: Seconds
    """Dense layers, for each token of the step."""
    tile_tokens: Count = 1
    """Dense layers compute whole tiles of so many tokens; 1: every token counts by itself."""
    smooth_max_p: float = Field(default=1.61, ge=1)
    """How sharply a step turns from reading weights to computing."""
    a_pair_s: Seconds
    """Prefill attention, for each pair of a new token and a token it attends to."""
    c_kv_s_per_token: Seconds
    """Decode attention, for each token of context."""
    c_mixed_s_per_token: Seconds = 0.0
    """Decode attention in a step with prefill, on top, for each token of context."""
    c_seq_s: Seconds = 0.0
    """For each sequence of the step."""
    c_pf_s: Seconds = 0.0
    """Once for a step with any prefill."""
    c_step_s: Seconds = 0.0
    """Once for every step."""
    t_launch_s: Seconds = 0.0
    """The shortest step, whatever the GPU computes in it: what the host takes to launch its kernels one by
    one, in eager mode. 0: they are launched together, as a CUDA graph."""


class StepTime(Protocol):
    """What the engine asks of a step-time law; another law is another class with these two methods."""

    def step_s(
        self, prefill: Sequence[tuple[int, int]], decode_batch: int, decode_context_tokens: int
    ) -> float:
        """Return the time of one step; `prefill` holds (new tokens, prefix tokens) of each chunk."""

    def decode_s(self, batch: int, sum_context_tokens: int, n: int) -> NDArray[np.float64]:
        """Return the times of `n` successive steps of the same decodes, bit for bit those of `step_s`."""


class StepLaw:
    """The law of this module."""

    __slots__ = ("_decode", "_decode_s", "_of", "_prefill", "_prefill_s")

    def __init__(self, coefficients: StepCoefficients, table: DenseTable | None = None) -> None:
        """Make the law of some coefficients, with a table of its dense part if there is one."""
        self._of = coefficients
        self._prefill_s: dict[int, float] = {}
        """The dense part of a step with prefill, by its tokens."""
        self._decode_s = self._prefill_s
        """The same of a step without: another one only with a table."""
        self._prefill = self._decode = self._smooth_s
        if table is not None:
            self._decode_s = {}
            decode = DenseCurve(table.tokens, table.decode, self._smooth_s)
            prefill = DenseCurve(table.tokens, table.prefill, self._smooth_s)
            prefill.at_least(decode)
            self._prefill, self._decode = prefill.time_s, decode.time_s

    def step_s(
        self, prefill: Sequence[tuple[int, int]], decode_batch: int, decode_context_tokens: int
    ) -> float:
        """Return the time of one step in seconds; 0 for a step without tokens.

        Args:
            prefill: for each chunk, tokens computed now and tokens of the same sequence computed before.
            decode_batch: sequences that compute one token.
            decode_context_tokens: tokens of context of those sequences together.

        """
        if not prefill:
            if not decode_batch:
                return 0.0
            decode = self._decodes_s(decode_batch) + self._of.c_kv_s_per_token * decode_context_tokens
            return max(decode, self._of.t_launch_s)
        tokens, pairs = decode_batch, 0.0
        for new, prefix in prefill:
            tokens += new
            pairs += new * (prefix + new / 2)
        dense = self._prefill_s.get(tokens)
        if dense is None:
            dense = self._prefill_s[tokens] = self._prefill(tokens)
        fixed = dense + self._of.c_seq_s * (len(prefill) + decode_batch) + self._of.c_step_s
        decodes = (self._of.c_kv_s_per_token + self._of.c_mixed_s_per_token) * decode_context_tokens
        time_s = fixed + decodes + (self._of.a_pair_s * pairs + self._of.c_pf_s)
        return max(time_s, self._of.t_launch_s)

    def decode_s(self, batch: int, sum_context_tokens: int, n: int) -> NDArray[np.float64]:
        """Return the times of `n` successive steps in seconds, shape (n,).

        Args:
            batch: sequences that compute one token in every step, 1 or more.
            sum_context_tokens: their context together in the first step; each later step adds `batch`.
            n: steps.

        """
        contexts = np.arange(sum_context_tokens, sum_context_tokens + batch * n, batch, dtype=np.float64)
        times_s = self._decodes_s(batch) + self._of.c_kv_s_per_token * contexts
        return np.maximum(times_s, self._of.t_launch_s) if self._of.t_launch_s else times_s

    def _decodes_s(self, batch: int) -> float:
        """Return what does not depend on contexts in a step without prefill."""
        dense = self._decode_s.get(batch)
        if dense is None:
            dense = self._decode_s[batch] = self._decode(batch)
        return dense + self._of.c_seq_s * batch + self._of.c_step_s

    def _smooth_s(self, tokens: int) -> float:
        """Return the dense part without a table. A scalar: NumPy's power differs in the last bit."""
        of, tile = self._of, self._of.tile_tokens
        return smooth_max(of.t_floor_s, of.c_tok_s_per_token * (-(-tokens // tile) * tile), of.smooth_max_p)


def smooth_max(x: float, y: float, p: float) -> float:
    """Return (x^p + y^p)^(1/p) for x, y >= 0, written so that no power overflows."""
    low, high = (x, y) if x < y else (y, x)
    return high * (1.0 + (low / high) ** p) ** (1.0 / p) if high else 0.0


def peak_roofline(model: ModelSettings, gpu: GpuSettings, parallel: Parallel = ONE_GPU) -> StepCoefficients:
    """Return coefficients from shapes and the peaks of the datasheet: what no engine can beat.

    Weights are read while dense layers are computed, and the longer of the two counts.
    """
    shares = dict.fromkeys(AchievedShares.model_fields, 1.0)
    ideal = gpu.model_copy(update={"achieved": AchievedShares.model_validate(shares)})
    return roofline(model, ideal, parallel).model_copy(update={"smooth_max_p": inf})


def roofline(model: ModelSettings, gpu: GpuSettings, parallel: Parallel = ONE_GPU) -> StepCoefficients:
    """Return coefficients from shapes and achieved peaks alone, for a model that nobody measured.

    A lower bound in practice: launches, element-wise operations and the host are not in it. With experts a
    step reads all of them, which is too much for a few tokens. Tensor-parallel GPUs share matrices, heads and
    KV heads, of which each keeps one at least, and add their parts up twice a layer; the cache of a latent
    vector each has whole. Experts are shared by the GPUs of all data-parallel ranks. A step passes through
    all stages of a pipeline, which takes as long as all layers in one place.
    """
    gpus = parallel.tensor
    kv_share = 1.0 if model.latent else max(model.kv_heads // gpus, 1) / model.kv_heads
    experts = model.expert_weights_bytes
    weights = (model.step_weights_bytes - experts + experts / parallel.data) / gpus
    achieved = gpu.achieved
    fp8_weights, fp8_cache = model.weights_dtype == "fp8", model.kv_dtype == "fp8"
    if fp8_weights and gpu.fp8_flop_per_s is not None:
        dense = gpu.fp8_flop_per_s * achieved.fp8_dense
    else:
        dense = gpu.bf16_flop_per_s * achieved.bf16_dense
    prefill = gpu.bf16_flop_per_s * (achieved.fp8_kv_prefill if fp8_cache else achieved.bf16_kv_prefill)
    kv_read = gpu.memory_bandwidth_bytes_per_s * (
        achieved.fp8_kv_read if fp8_cache else achieved.bf16_kv_read
    )
    weight_read = gpu.memory_bandwidth_bytes_per_s * achieved.weight_read
    all_reduces = 2 * model.layers if gpus > 1 else 0
    return StepCoefficients(
        t_floor_s=weights / weight_read,
        c_tok_s_per_token=model.flop_per_token / gpus / dense
        + (all_reduces * 2 * model.hidden_size / ALL_REDUCE_BYTES_PER_S),
        smooth_max_p=SMOOTH_MAX_P[model.weights_dtype],
        a_pair_s=model.attention_flop_per_pair / gpus / prefill,
        c_kv_s_per_token=model.kv_bytes_per_token * kv_share / kv_read,
        # A step reads and writes each sequence's recurrent state.
        c_seq_s=2 * model.state_bytes_per_sequence / gpus / weight_read,
        c_step_s=all_reduces * ALL_REDUCE_S,
    )
