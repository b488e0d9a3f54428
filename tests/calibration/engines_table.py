"""Writes docs/engines.md anew: `python -m tests.calibration.engines_table`.

A row for each engine with shipped step times: what fits on its GPUs, and how long steps take.
"""

from collections.abc import Iterator
from pathlib import Path

from sim.base.errors import InputError
from sim.base.shipped import preset_names
from sim.base.words import format_bytes
from sim.hardware.step_laws import TimedWorker, laws
from sim.scenario.load import load_scenario
from tests.calibration.aic_files import Engine, engines

FILE = Path(__file__).parents[2] / "docs" / "engines.md"
HEAD = """# Engines with step times

`python -m tests.calibration.engines_table` writes this page: every engine whose step times are shipped, with
vLLM 0.28.0's limits of a step for its GPU and 92 % of its memory. Weights are those of the fullest GPU, KV
tokens those of one data-parallel rank. 8K: a step that computes a prompt of 8,192 tokens, in ms. Decode: a
step of 1 and of 32 sequences with 4,096 tokens of context each, in ms. Times: whose they are, see
`calibration/README.md`.

| model | GPU | sizes | weights a GPU | KV tokens | 8K | decode 1 | decode 32 | times |
|---|---|---|---:|---:|---:|---:|---:|---|
"""
PROMPT, CONTEXT, BATCH = 8192, 4096, 32


def table() -> str:
    """Return the page."""
    return HEAD + "".join(f"| {' | '.join(row)} |\n" for row in map(_row, _engines()))


def _engines() -> Iterator[Engine]:
    known = preset_names("models")
    return (engine for engine in engines() if engine.model in known)


def _row(engine: Engine) -> list[str]:
    model, gpu, parallel, _ = engine
    sizes = [f"workers.{key}_parallel={str(size).lower()}" for key, size in parallel._asdict().items()]
    found = load_scenario("agg8", [f"model={model}", f"gpu={gpu}", *sizes, "workers.count=1", "offload=none"])
    head = [model, gpu, str(parallel) or "1 GPU"]
    try:
        capacity = found.capacity()
    except InputError:
        return [*head, "does not fit", "", "", "", "", ""]
    times = found.coefficients()
    law = laws(times.origin, times.step, times.table)(
        TimedWorker("aggregated", capacity.pool_tokens, found.engine.max_num_batched_tokens)
    )
    steps = (
        law.step_s([(PROMPT, 0)], 0, 0),
        law.step_s([], 1, CONTEXT),
        law.step_s([], BATCH, BATCH * CONTEXT),
    )
    return [
        *head,
        format_bytes(capacity.share.weights_bytes, 1),
        f"{capacity.pool_tokens:,}",
        *(f"{1e3 * step_s:.1f}" for step_s in steps),
        times.origin,
    ]


if __name__ == "__main__":
    FILE.write_text(table(), encoding="utf-8")
