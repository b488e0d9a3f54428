"""The settings that mirror a running cluster, as far as what it left behind tells them."""

import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sim.errors import InputError
from sim.hf_config import from_hf_config
from sim.measured.commands import Commands
from sim.measured.flags import Command
from sim.measured.mirror.engines import tell_engines
from sim.measured.mirror.found import Found
from sim.measured.mirror.frontend import tell_frontend
from sim.measured.mirror.metrics import tell_blocks, tell_decisions, tell_metrics, tell_pools
from sim.measured.prometheus import Window
from sim.measured.roles import Role
from sim.measured.run import MeasuredRun
from sim.measured.workers import find_workers
from sim.shipped import preset_names

_SELF_TIMED = "no-self-timed"


@dataclass(frozen=True, slots=True)
class Cluster:
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


def mirror(cluster: Cluster, folder: Path | None = None) -> Found:
    """Return the settings that the sources tell; the paths among them start at `folder`, or are absolute.

    Command lines win over metrics, and these over the router's log.

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
    tell_engines(engines, found)
    for frontend in [known.frontend for known in commands if known.frontend][:1]:
        tell_frontend(frontend, found)
    tell_pools(workers, found)
    tell_blocks(workers, found)
    tell_metrics(windows, found)
    tell_decisions(run.decisions if run else (), found)
    _tell_model(cluster, engines, found, folder)
    found.tell("gpu", cluster.gpu, "--gpu")
    if run:
        _tell_replay(run, found, folder)
    return found


def _tell_model(cluster: Cluster, engines: tuple[Command, ...], found: Found, folder: Path | None) -> None:
    """Add the model: as asked for, by the engines' `--model`, or by the configuration that the run keeps."""
    if cluster.model:
        is_path = cluster.model.endswith(".json")
        path = _path(Path(cluster.model), folder) if is_path else cluster.model
        found.tell("model.config" if is_path else "model.preset", path, "--model")
        return
    name = next((name for engine in engines if (name := _model_name(engine))), None)
    preset = _preset_of(name) if name else None
    if preset:
        found.tell("model.preset", preset, f"the engines' model, {name}")
        return
    config = cluster.run.commands.model_config if cluster.run else None
    if config:
        try:
            _tell_config(config, name or "measured", found)
        except InputError as error:
            found.note(
                f"the model's configuration cannot be used: {str(error).rpartition('config.json: ')[2]}"
            )
    elif name:
        found.note(f"no preset is the engines' model, {name}: name one with --model, or its config.json")


def _path(path: Path, folder: Path | None) -> str:
    return str(path.resolve()) if folder is None else os.path.relpath(path, folder)


def _model_name(engine: Command) -> str | None:
    """Return `--model`, or what stands behind `vllm serve`."""
    words = engine.words
    served = words[words.index("serve") + 1 :] if "serve" in words else ()
    return engine.value("model") or (served[0] if served else None)


def _preset_of(name: str) -> str | None:
    """Return the preset of a model's name: its own, or the only one that goes on with a number format."""
    plain = name.rstrip("/").rpartition("/")[2].lower().removesuffix("-instruct")
    known = [preset for preset in preset_names("models") if preset == plain or preset.startswith(f"{plain}-")]
    return known[0] if len(known) == 1 else None


def _tell_config(config: Any, name: str, found: Found) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "config.json"
        path.write_text(json.dumps(config), encoding="utf-8")
        model = from_hf_config(path)
    values = model.model_dump(mode="json", exclude_defaults=True) | {"name": name}
    for key, value in values.items():
        found.tell(f"model.{key}", value, "the run's model_config")


def _tell_replay(run: MeasuredRun, found: Found, folder: Path | None) -> None:
    """Add what the client sent, and how."""
    trace, settings, client = run.folder.only(Role.TRACE), run.folder.settings.trace, run.commands.client
    if trace:
        found.tell("workload.path", _path(trace.path, folder), "the run's trace")
        for key, value in settings.model_dump(exclude_defaults=True).items():
            found.tell(f"workload.{key}", value, "run.toml")
    if client and trace:
        option = "timed-trace-chunk-hash-size"
        found.tell("workload.chunk_tokens", client.integer(option), f"--{option}")
    if client and _SELF_TIMED in client.options:
        found.note(f"--{_SELF_TIMED}: the client did not keep to the trace's times; the scenario does")
    if run.bench:
        limit = run.bench.max_concurrency
        found.tell("replay.client", "max-concurrency" if limit else "open-loop", "the client's result")
        found.tell("replay.max_concurrency", limit, "the client's result")
        if run.trace and run.bench.n_requests < len(run.trace.requests):
            found.note(
                f"the client sent {run.bench.n_requests} of the trace's {len(run.trace.requests)} rows"
            )
