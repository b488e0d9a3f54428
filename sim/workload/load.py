"""The workload of a scenario: a trace from a file, from the generator of sessions, or as described."""

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path

from sim.workload.agent import generate
from sim.workload.groups import session_groups
from sim.workload.request import Answer, Trace
from sim.workload.resampled import fresh, resampled
from sim.workload.session_sets import drawn, windowed
from sim.workload.settings import WorkloadSettings
from sim.workload.sources import STDIN
from sim.workload.trace_file import load_trace


def load_workload(settings: WorkloadSettings, seed: int, base_dir: Path) -> Trace:
    """Return the trace that the settings ask for; a relative path starts at `base_dir`.

    Raises:
        InputError: the file cannot be used; see `load_trace`.

    """
    trace = _load(settings, seed, base_dir)
    if settings.fresh_prompts:
        trace = fresh(trace)
    return trace if settings.output_factor == 1 else _with_outputs(trace, settings.output_factor)


def _load(settings: WorkloadSettings, seed: int, base_dir: Path) -> Trace:
    if settings.path is not None:
        return _chosen(_read(settings, seed, base_dir), settings)
    if settings.synthetic is not None:
        return settings.synthetic.trace(seed if settings.session_set is None else settings.session_set)
    if settings.profile is None or settings.sessions is None:
        raise ValueError("settings without a source; validation lets none through")
    return generate(
        settings.profile,
        sessions=settings.sessions,
        seed=seed if settings.session_set is None else settings.session_set,
        turns=settings.turns,
        window=settings.window,
        think_factor=1.0 if settings.think_factor is None else settings.think_factor,
        max_think_s=settings.max_think_s,
        start_gap_s=settings.start_gap_s,
        max_context_tokens=settings.max_context_tokens,
    )


def _read(settings: WorkloadSettings, seed: int, base_dir: Path) -> Trace:
    paths = [path if path == STDIN else base_dir / path for path in settings.paths]
    trace = load_trace(
        paths,
        format=settings.format,
        full_prompts=settings.full_prompts,
        hash_rounding=settings.hash_rounding,
        chunk_tokens=settings.chunk_tokens,
        sessions=None if settings.session_set or settings.resample else settings.sessions,
        sec_multiplier=settings.sec_multiplier,
        identity=settings.identity,
        break_prefix=settings.break_prefix,
    )
    if not settings.resample or settings.sessions is None:
        return trace
    if settings.sessions < len(session_groups(trace)):
        return trace if settings.session_set else drawn(trace, 0, settings.sessions)
    return resampled(trace, settings.sessions, seed if settings.session_set is None else settings.session_set)


def _chosen(trace: Trace, settings: WorkloadSettings) -> Trace:
    """Return the sessions and turns of a trace that are asked for."""
    if settings.session_set:
        trace = drawn(trace, settings.session_set, settings.sessions)
    if settings.turns is None:
        return trace
    return windowed(
        trace,
        turns=settings.turns,
        window=settings.window,
        think_factor=1.0 if settings.think_factor is None else settings.think_factor,
        max_think_s=settings.max_think_s,
        start_gap_s=settings.start_gap_s,
    )


def _with_outputs(trace: Trace, factor: float) -> Trace:
    outputs = [ceil(request.output_tokens * factor) for request in trace.requests]
    requests = tuple(
        replace(request, output_tokens=output, answer=_within(request.answer, outputs))
        for request, output in zip(trace.requests, outputs, strict=True)
    )
    return replace(trace, requests=requests, notes=(*trace.notes, f"output lengths multiplied by {factor:g}"))


def _within(answer: Answer | None, outputs: Sequence[int]) -> Answer | None:
    """Return as much of an answer in a prompt as is given out."""
    if answer is None:
        return None
    return answer._replace(end=min(answer.end, answer.start + outputs[answer.request]))
