"""Coefficients from `vllm bench forward`: which cases to run, and the file that their times give."""

from collections.abc import Iterator
from itertools import product

from sim.base.errors import InputError
from sim.calibration.forward_fit import ForwardFit, fit
from sim.hardware.coefficient_file import Coefficient, CoefficientFile, DataFile, ParallelSizes
from sim.hardware.coefficient_toml import rounded
from sim.hardware.frontend_priors import FRONTEND_PRIORS
from sim.hardware.parallel import Parallel
from sim.measured.formats.forward_json import STEADY_PERCENT, ForwardFile

DECODES = ((1, 2, 4, 8, 16, 32, 64, 128, 256), (256, 1024, 4096, 32_768))
PROMPTS = (16, 64, 256, 512, 1024, 2048, 4096, 8192)
CHUNKS = ((1024, 4096), (8192, 24_576))
MIXES = ((512, 16), (2048, 64), (4096, 8), (1024, 128))
MOST_CONTEXT = 131_072
"""Tokens that the cases' caches hold at most, so that they fit a GPU with the model on it."""


def cases() -> Iterator[str]:
    """Yield the cases to run, in vLLM's words: about forty, each some seconds long."""
    for batch, context in product(*DECODES):
        if batch * context <= MOST_CONTEXT:
            yield f"decode-{batch}-{context}={batch}*1@{context + 1}"
    for new in PROMPTS:
        yield f"prefill-{new}={new}"
    for new, prefix in product(*CHUNKS):
        yield f"chunk-{new}-{prefix}={new}@{prefix + new}c"
    for new, batch in MIXES:
        yield f"mix-{new}-{batch}={new},{batch}*1@{1025}"


def command(model: str, parallel: Parallel) -> str:
    """Return the command line to paste, for an engine of these sizes."""
    options = {
        "--tensor-parallel-size": parallel.tensor,
        "--pipeline-parallel-size": parallel.pipeline,
        "--data-parallel-size": parallel.data,
    }
    sizes = [f"{key} {size}" for key, size in options.items() if size > 1]
    run = "vllm bench forward"
    if parallel.gpus > 1:
        run = f"torchrun --nproc-per-node={parallel.gpus} -m vllm.entrypoints.cli.main bench forward"
    if parallel.expert:
        sizes.append("--enable-expert-parallel")
    lines = [
        f"{run} --model {model}",
        *([" ".join(sizes)] if sizes else []),
        "--kv-len-jitter 0 --iters 5 --samples 3 --output-json forward.json",
        *(f"--case '{case}'" for case in cases()),
    ]
    return " \\\n  ".join(lines)


def calibrate(measured: ForwardFile, model: str, gpu: str, parallel: Parallel) -> CoefficientFile:
    """Return the coefficients that the cases of a file give.

    Args:
        measured: the file.
        model: name of the model that was timed.
        gpu: name of the GPU.
        parallel: sizes of the engine that was timed.

    Raises:
        InputError: its cases cannot be used, or are of an engine of other sizes.

    """
    path = measured.path
    if measured.gpus != parallel.gpus:
        raise InputError(
            f"{path}: was run on {measured.gpus} GPU{'s' if measured.gpus > 1 else ''}, and --tp, --pp and "
            f"--dp make {parallel.gpus}"
        )
    try:
        found = fit(measured.cases)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return forward_file(found, measured, model, gpu, parallel)


def forward_file(
    found: ForwardFit, measured: ForwardFile, model: str, gpu: str, parallel: Parallel
) -> CoefficientFile:
    """Return the content of the file of a fit; arguments as `calibrate`."""
    n = len(measured.cases)
    worst = max((one.mape for one in found.held_out), default=0.0)
    entries = {}
    for name, off in found.off.items():
        value = getattr(found.step, name)
        spread = 1 + min(max(off, worst), 1.0)
        low, high = rounded(value / spread), rounded(value * spread)
        if name == "smooth_max_p":
            low = max(low, 1.0)
        entries[name] = Coefficient(
            value=value,
            range=(min(low, value), max(high, value)),
            source=f"fitted to {n} timed batches",
        )
    unsteady = sum(case.spread_percent > STEADY_PERCENT for case in measured.cases)
    words = f"; {unsteady} of them unstable" if unsteady else ""
    return CoefficientFile(
        model=model,
        gpu=gpu,
        parallel=ParallelSizes.of(parallel),
        origin="fitted",
        summary=(
            f"fitted to {n} batches timed by vllm bench forward{words}; GPU time alone, without sampling and "
            "without the host"
        ),
        step=entries,
        frontend=FRONTEND_PRIORS,
        dense=found.table,
        data=(DataFile(file=measured.path.name, sha256=measured.sha256, rows=n),),
        held_out=found.held_out,
    )


def head_lines(content: CoefficientFile) -> list[str]:
    """Return the comment on top of the file."""
    return [
        f"Step-time coefficients of {content.model} on {content.gpu}: {content.summary}.",
        "Made by `sim calibrate forward`; README.md says how, and what each coefficient multiplies.",
    ]
