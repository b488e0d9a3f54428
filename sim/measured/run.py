"""A recorded run as a whole: its folder is read, its requests joined, its engines named."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim.base.errors import InputError
from sim.measured.commands import Commands, commands
from sim.measured.folder import Folder, RunFile, read_folder, way_out
from sim.measured.formats.bench import Bench, read_bench
from sim.measured.formats.engine_log import EngineLog, read_engine_log
from sim.measured.formats.flags import Command
from sim.measured.formats.kv_events import KvEvents, read_kv_events
from sim.measured.formats.prometheus import Window
from sim.measured.formats.request_trace import read_request_trace
from sim.measured.formats.router_log import LoggedDecision, read_router_log
from sim.measured.formats.usage import read_usage
from sim.measured.join import Sources, join
from sim.measured.releases import Release, releases
from sim.measured.request import MeasuredRequest
from sim.measured.roles import Role
from sim.measured.windows import run_windows
from sim.measured.workers import MeasuredWorker, find_workers
from sim.workload.request import Trace
from sim.workload.trace_file import load_trace

TRACE_UNIT = "timed-trace-sec-multiplier"
"""Option of the client."""
_MILLISECOND = 0.001


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """One run. What no file of it says is empty or None."""

    title: str
    folder: Folder
    bench: Bench | None
    trace: Trace | None
    requests: tuple[MeasuredRequest, ...]
    """In the order of the client's input."""
    decisions: tuple[LoggedDecision, ...]
    """Every choice of a worker that the router logged, in order of time."""
    workers: tuple[MeasuredWorker, ...]
    windows: Mapping[str, Window]
    """Metrics by target: engines and the frontend."""
    kv_events: Mapping[str, KvEvents]
    """By engine."""
    commands: Commands
    engine_logs: Mapping[str, EngineLog]
    """By engine, or by the name of a file that does not say whose it is; only those that say anything."""
    notes: tuple[str, ...]
    """What was guessed, left out or could not be joined, a sentence each."""

    @property
    def releases(self) -> list[Release]:
        """Which vLLM and which Dynamo it was made with, as far as any file says."""
        return releases([self.commands], self.engine_logs, self.workers)

    @property
    def block_tokens(self) -> int | None:
        """Tokens of a KV block: as the engines say, else as the router."""
        sizes = [worker.block_tokens for worker in self.workers]
        sizes += [size for log in self.engine_logs.values() for size in log.block_tokens]
        sizes += [request.logged.block_tokens for request in self.requests if request.logged]
        sizes += [request.traced.block_tokens for request in self.requests if request.traced]
        return next((size for size in sizes if size), None)

    def worker(self, worker_id: int | None) -> MeasuredWorker | None:
        """Return the engine of an id; the only one of a run answers to every id."""
        if len(self.workers) == 1:
            return self.workers[0]
        if worker_id is None:
            return None
        return next((found for found in self.workers if found.worker_id == worker_id), None)


def load_run(path: Path) -> MeasuredRun:
    """Return what the files of a folder say of one run.

    Raises:
        InputError: no such folder, or a file that cannot be used; names file, line, key and what is allowed.

    """
    folder = read_folder(path)
    with way_out():
        return _load(path, folder)


def _load(path: Path, folder: Folder) -> MeasuredRun:
    notes: list[str] = []
    # Where Dynamo's frontend and its workers share a file, it is both.
    written = [*folder.of(Role.ROUTER_LOG), *folder.of(Role.ENGINE_LOG)]
    log, engine_logs = read_router_log(*(file.path for file in written)), _engine_logs(written)
    if log.n_unjoined_candidates:
        notes.append(f"{log.n_unjoined_candidates} candidates in the router's log without a choice")
    sources = Sources(
        logged=log.requests,
        traced=[row for file in folder.of(Role.REQUEST_TRACE) for row in read_request_trace(file.path)],
        usage={key: row for file in folder.of(Role.USAGE) for key, row in read_usage(file.path).items()},
    )
    if bench := folder.only(Role.BENCH):
        sources.bench = read_bench(bench.path)
    command_file = folder.only(Role.COMMANDS)
    started = commands(folder.settings.commands, command_file.path if command_file else None)
    if trace := folder.only(Role.TRACE):
        sources.trace = load_trace(trace.path, **_trace_settings(folder, started.client))
    requests = join(sources, notes)
    windows = run_windows(folder, notes)
    decisions = tuple(log.decisions)
    kv_events = _kv_events(folder.of(Role.KV_EVENTS))
    workers = tuple(find_workers(windows, decisions, kv_events))
    strangers = sorted(kv_events.keys() - {worker.name for worker in workers})
    if strangers:
        notes.append(
            f"KV events of {', '.join(strangers)}: without metrics nothing tells which engine that is"
        )
    return MeasuredRun(
        title=folder.settings.title or path.resolve().name,
        folder=folder,
        bench=sources.bench,
        trace=sources.trace,
        requests=requests,
        decisions=decisions,
        workers=workers,
        windows=windows,
        kv_events=kv_events,
        commands=started,
        engine_logs=engine_logs,
        notes=(*notes, *folder.notes, *log.notes),
    )


def _trace_settings(folder: Folder, client: Command | None) -> dict[str, Any]:
    settings = folder.settings.trace.model_dump()
    if client and (unit_s := trace_unit_s(folder, client)):
        settings["sec_multiplier"] = unit_s
    return settings


def trace_unit_s(folder: Folder, client: Command) -> float | None:
    """Return the unit of the trace's timestamps that the client was told, where `run.toml` leaves it open.

    None for milliseconds, which whole numbers are taken for.
    """
    settings = folder.settings.trace
    if settings.sec_multiplier is not None or settings.format == "mooncake":
        return None
    unit_s = client.real(TRACE_UNIT)
    return None if unit_s == _MILLISECOND else unit_s


def _engine_logs(files: list[RunFile]) -> dict[str, EngineLog]:
    paths: dict[str, list[Path]] = {}
    for file in files:
        paths.setdefault(file.target or file.path.name, []).append(file.path)
    found = {name: read_engine_log(*of_one) for name, of_one in paths.items()}
    return {name: log for name, log in found.items() if log != EngineLog()}


def _kv_events(files: list[RunFile]) -> dict[str, KvEvents]:
    found: dict[str, KvEvents] = {}
    for file in files:
        name = file.target or file.path.name
        if name in found:
            raise InputError(
                f"{file.path}: a second recording of {name}'s KV events; run.toml can say whose it is"
            )
        found[name] = read_kv_events(file.path)
    return found
