"""The JSONL of vLLM's `vllm bench serve --dataset-name timed_trace`: seconds, no sessions, an open loop."""

from collections.abc import Sequence

from sim.traces.moments import Place
from sim.traces.writers.writer import Row, Writer
from sim.workload.request import Request

_DIGITS = 9


def _row(request: Request, hash_ids: Sequence[int], place: Place) -> Row:
    return {
        "timestamp": float(round(place.moment_s, _DIGITS)),
        "input_length": request.prompt_tokens,
        "output_length": request.output_tokens,
        "hash_ids": hash_ids,
    }


WRITER = Writer(
    name="timed_trace",
    row=_row,
    carries=frozenset(),
    hint=lambda trace: (
        f"vLLM's client takes it with --timed-trace-chunk-hash-size {trace.chunk_tokens} "
        f"--num-prompts {len(trace.requests)}, and PYTHONHASHSEED set"
    ),
)
