"""Coefficients from the tables of AIConfigurator, as a file: what a scenario takes, what is shipped."""

from collections.abc import Sequence
from pathlib import Path

from sim.hardware.aic.asked import Asked, asked
from sim.hardware.aic.cache import fingerprint, keep, kept
from sim.hardware.aic.fit import compared, fitted
from sim.hardware.aic.library import installed_version, opened, refusing
from sim.hardware.aic.steps import SOURCES, AicSteps, Steps, Timed
from sim.hardware.coefficient_file import (
    Coefficient,
    CoefficientFile,
    HeldOut,
    ParallelSizes,
    checked,
)
from sim.hardware.coefficient_toml import rounded, to_toml
from sim.hardware.frontend_priors import FRONTEND_PRIORS
from sim.hardware.model import GpuSettings, ModelSettings
from sim.hardware.parallel import Parallel

_RULES = 1
"""Raised when the same tables give another law: kept ones are then made anew."""

SPREAD = {"silicon": 0.10, "empirical": 0.25, "mixed": 0.30}
"""By what factor, less 1, a part of a time may be off, by its source.

Silicon: twice what leaving rows out of the tables moves them by, 4 to 5 % for matrix products and 2 to 3 %
for attention (medians, the library's own). Empirical: a formula with a flat 80 % of the bandwidth. Mixed:
attention over prefixes longer than any that was measured; sources for a chunk on 200K tokens lie 30 % apart.
Whole runs are further off than steps: the library's daily report has 24 % for TPOT and 44 % for TTFT.
"""
FP8_FLOOR = 1.3
"""How much longer reading FP8 weights may take if their scales are by block: tables of vLLM 0.31 compose the
shortest step of Qwen3.5-27B on an H100 to 14.2 ms, those of one scale a tensor to 12.3."""

SHARPNESS = {"fp8": 1.61}
_SHARPNESS_ELSE = 3.6


def aic_coefficients(model: ModelSettings, gpu: GpuSettings, parallel: Parallel) -> CoefficientFile:
    """Return the coefficients that AIConfigurator's tables give for an engine.

    Raises:
        InputError: the library is not installed, or has no tables for this engine.

    """
    return coefficients_of(asked(model, gpu, parallel), model.name, gpu.name)


def coefficients_of(question: Asked, model_name: str, gpu_name: str) -> CoefficientFile:
    """Return the coefficients for an engine that is asked for in AIConfigurator's words.

    Args:
        question: the engine.
        model_name: of the model, for the file.
        gpu_name: of the GPU, for the file.

    Raises:
        InputError: as `aic_coefficients`.

    """
    release = installed_version()
    name = fingerprint(_RULES, release, question, model_name, gpu_name)
    content = kept(name)
    if content is None:
        with refusing(question):
            steps = AicSteps(opened(question))
            content = composed(steps, question, model_name, gpu_name, release)
            text = to_toml(content, ["A kept fit; may be deleted at any time."])
        keep(name, text)
        # As it is read the next time: a time with its unit may differ in the last bit.
        content = checked(Path(name), text)
    return content


def beside_tables(content: CoefficientFile, question: Asked) -> dict[str, list[tuple[int, float]]]:
    """Return tokens and law / tables of each step between those that a file's law is fitted to, by kind.

    Raises:
        InputError: as `aic_coefficients`.

    """
    with refusing(question):
        return compared(AicSteps(opened(question)), content.law)


def composed(steps: Steps, question: Asked, model_name: str, gpu_name: str, release: str) -> CoefficientFile:
    """Return the file of some steps; `release` is the library's version."""
    fp8 = question.gemm == "fp8"
    law = fitted(steps, SHARPNESS["fp8"] if fp8 else _SHARPNESS_ELSE)
    prompt, long = steps.prefill(8192, 0), steps.prefill(2048, 65_536)
    decode, short = steps.decode(32, 4096), steps.decode(32, 256)
    attention = {
        "a_pair_s": _difference(long, steps.prefill(2048, 0)),
        "c_kv_s_per_token": _difference(steps.decode(32, 16_384), short),
    }
    shares = {
        "t_floor_s": _shares(steps.decode(1, 256)),
        "c_tok_s_per_token": _shares(steps.prefill(2048, 0)),
        **{key: _shares(part) for key, part in attention.items()},
        "c_seq_s": _shares(short),
    }
    entries = {
        key: _entry(getattr(law.step, key), share, FP8_FLOOR if fp8 and key == "t_floor_s" else 1.0)
        for key, share in shares.items()
    }
    entries["smooth_max_p"] = Coefficient(
        value=law.step.smooth_max_p,
        range=(law.step.smooth_max_p, law.step.smooth_max_p),
        source="as in the roofline; the table bends the curve",
    )
    return CoefficientFile(
        model=model_name,
        gpu=gpu_name,
        parallel=ParallelSizes.of(question.parallel),
        formats=question.formats,
        origin="aiconfigurator",
        summary=(
            f"kernel tables of AIConfigurator {release} ({_words(question)}), nothing fitted to a run; "
            f"measured are {_measured(prompt)} of an 8K prompt, {_measured(long)} of a chunk on 64K and "
            f"{_measured(decode)} of a decode step, the rest is formulas and scaling; {_within(law.held_out)}"
        ),
        step=entries,
        frontend=FRONTEND_PRIORS,
        dense=law.table,
        held_out=law.held_out,
    )


def _entry(value: float, share: Sequence[float], more: float) -> Coefficient:
    """Return a coefficient with the range that the sources of its time leave it."""
    off = 1.0 + sum(part * SPREAD[source] for part, source in zip(share, SOURCES, strict=True))
    words = ", ".join(
        f"{part:.0%} {source}" for part, source in zip(share, SOURCES, strict=True) if part >= 0.005
    )
    block = "; block scales may cost more" if more > 1 else ""
    return Coefficient(
        value=value,
        range=(min(rounded(value / off), value), max(rounded(value * max(off, more)), value)),
        source=f"tables: {words}{block}",
    )


def _shares(step: Timed) -> tuple[float, ...]:
    return tuple(part / step.s for part in step.by_source)


def _difference(long: Timed, short: Timed) -> Timed:
    """Return what the longer of two steps adds, each source at 0 or more."""
    silicon, empirical, mixed = (
        max(a - b, 0.0) for a, b in zip(long.by_source, short.by_source, strict=True)
    )
    return Timed(silicon + empirical + mixed or 1.0, (silicon, empirical, mixed))


def _words(question: Asked) -> str:
    """Return the GPU and the formats: "h100_sxm, weights fp8, kv fp8"."""
    return ", ".join([question.system, *(f"{part} {value}" for part, value in question.formats.items())])


def _measured(step: Timed) -> str:
    return f"{_shares(step)[0]:.0%}"


def _within(held_out: Sequence[HeldOut]) -> str:
    """Return the mean errors: "the law is 1.0 % (prefill), 2.5 % (decode), 3.3 % (both) off them"."""
    words = ("prefill", "decode", "both")
    errors = (f"{100 * one.mape:.1f} % ({word})" for word, one in zip(words, held_out, strict=True))
    return f"the law is {', '.join(errors)} off the tables"
