"""A made-up AIConfigurator: a known law behind the methods that are asked for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sim.hardware.aic.library import Op

HEAD_MS, LAUNCH_MS = 0.25, 0.5


def dense_ms(tokens: int) -> float:
    """Return 4 ms and 10 us a token, and 2 ms more each from 32 tokens on: nothing smooth."""
    return 4.0 + 0.01 * tokens + (2.0 if tokens >= 32 else 0.0)


@dataclass
class MadeUp:
    """Attention of 1 ns a pair and 50 ns a token of context; decodes cost 20 us each beyond a token."""

    a_pair_ms: float = 1e-6
    c_kv_ms: float = 50e-6
    c_seq_ms: float = 20e-3
    head_in_prefill: bool = True
    dense: Callable[[int], float] = dense_ms

    def run_static_per_op(
        self, *, batch_size: int, isl: int, osl: int, prefix: int, mode: str
    ) -> tuple[Sequence[Op], Sequence[Op]]:
        assert (batch_size, osl, mode) == (1, 1, "static_ctx")
        new = isl - prefix
        attention = self.a_pair_ms * new * (prefix + new / 2) + LAUNCH_MS
        head = [("context_logits_gemm", HEAD_MS, 0.0, "silicon")] if self.head_in_prefill else []
        return [
            ("context_gemm", self.dense(new) - 1.0, 0.0, "silicon"),
            ("context_norm", 1.0, 0.0, "empirical"),
            ("context_attention", attention, 0.0, "mixed" if prefix else "silicon"),
            *head,
        ], []

    def decode_step_per_op(self, gen_tokens: int, isl: int, osl: int) -> Sequence[Op]:
        assert osl == 2
        return [
            ("generation_gemm", self.dense(gen_tokens) + self.c_seq_ms * gen_tokens, 0.0, "silicon"),
            ("generation_attention", self.c_kv_ms * gen_tokens * isl, 0.0, "silicon"),
            ("generation_logits_gemm", HEAD_MS, 0.0, "silicon"),
        ]

    def mixed_step_latency(self, ctx_tokens: int, gen_tokens: int, isl: int, osl: int, prefix: int) -> float:
        assert (isl, osl, prefix) == (ctx_tokens, 2, 0)
        prefill, _ = self.run_static_per_op(batch_size=1, isl=isl, osl=1, prefix=0, mode="static_ctx")
        decodes = self.c_seq_ms * gen_tokens + self.c_kv_ms * gen_tokens * isl
        more = self.dense(ctx_tokens + gen_tokens) - self.dense(ctx_tokens)
        return sum(ms for _, ms, _, _ in prefill) + more + decodes
