"""The files of a recorded run: what each one is, told from what is in it, or from `run.toml` beside them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from sim.errors import InputError
from sim.measured.log_lines import is_log_line
from sim.measured.records import checked
from sim.settings import Settings
from sim.shipped import read_toml
from sim.workload.formats import FormatName
from sim.workload.formats.lines import json_object, lines

RUN_TOML = "run.toml"
_HEAD_LINES = 40
_SAMPLE = re.compile(rb"[a-zA-Z_:][\w:]*(?:\{.*\})?\s+[-+\d.eENaInf]+(?:\s+\d+)?\s*$")
_MOMENT = re.compile(r"(?:^|[-_.])(before|after)(?=[-_.]|$)")
_TARGET = re.compile(
    r"(?:^|[-_.])((?:worker|workers|engine|prefill|decode|frontend|router)[-_]?\d*)(?=[-_.]|$)"
)

Moment = Literal["before", "after"]


class Role(StrEnum):
    """What a file of a run is."""

    BENCH = "bench"
    TRACE = "trace"
    METRICS = "metrics"
    METRICS_SERIES = "metrics-series"
    ROUTER_LOG = "router-log"
    REQUEST_TRACE = "request-trace"
    KV_EVENTS = "kv-events"
    USAGE = "usage"
    COMMANDS = "commands"
    IGNORE = "ignore"


ABOUT = {
    Role.BENCH: "result of vllm bench serve",
    Role.TRACE: "trace that was replayed",
    Role.METRICS: "Prometheus text",
    Role.METRICS_SERIES: "Prometheus text, a series",
    Role.ROUTER_LOG: "log of frontend and router",
    Role.REQUEST_TRACE: "Dynamo's request trace",
    Role.KV_EVENTS: "vLLM's KV events",
    Role.USAGE: "usage, as the engine answered",
    Role.COMMANDS: "command lines",
    Role.IGNORE: "not read",
}

_KEYS = (
    (Role.KV_EVENTS, {"seq", "batch"}),
    (Role.METRICS_SERIES, {"t", "target", "text"}),
    (Role.REQUEST_TRACE, {"event", "timestamp"}),
    (Role.USAGE, {"id", "usage"}),
    (Role.TRACE, {"input_length", "hash_ids"}),
    (Role.BENCH, {"num_prompts", "duration", "completed", "total_input_tokens"}),
    (Role.COMMANDS, {"worker_cmds"}),
)
"""Keys by which the JSON of a role is known."""


@dataclass(frozen=True, slots=True)
class RunFile:
    """One file of a run."""

    path: Path
    role: Role
    target: str | None
    """Whose it is, for files of a worker or of the frontend: worker0, prefill1, frontend, ..."""
    moment: Moment | None
    """Prometheus text: whether it was scraped before or after the run."""


class FileSettings(Settings):
    """What `run.toml` says of one file."""

    role: Role
    """What the file is."""
    target: str | None = None
    """The worker it is of, or "frontend"; unset: as its name says."""
    moment: Moment | None = None
    """Prometheus text: scraped before or after the run; unset: as its name says."""


class TraceSettings(Settings):
    """How the trace is read: as in a scenario's `workload`."""

    format: FormatName = "auto"
    """Format of the file."""
    chunk_tokens: int | None = None
    """Tokens of one hash id."""
    sec_multiplier: float | None = None
    """Seconds of a unit of a `timed_trace` timestamp."""


class CommandSettings(Settings):
    """How the cluster was started."""

    engines: tuple[str, ...] = ()
    """Command line of each engine, or one that all share."""
    frontend: str | None = None
    """Command line of Dynamo's frontend."""
    client: str | None = None
    """Command line of `vllm bench serve`."""


def _as_table(choice: Any) -> Any:
    return {"role": choice} if isinstance(choice, str) else choice


class RunToml(Settings):
    """A `run.toml`: what the files of its folder do not tell by themselves."""

    title: str = ""
    """A line above what is printed; unset: the name of the folder."""
    files: dict[str, Annotated[FileSettings, BeforeValidator(_as_table)]] = Field(default_factory=dict)
    """File, relative to the folder, to its role or to a table of role, target and moment."""
    trace: TraceSettings = TraceSettings()
    """How the trace is read."""
    commands: CommandSettings = CommandSettings()
    """How the cluster was started."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A run's files by role, in the order of their names."""

    path: Path
    settings: RunToml
    files: tuple[RunFile, ...]

    def of(self, role: Role) -> list[RunFile]:
        """Return the files of one role."""
        return [file for file in self.files if file.role is role]

    def only(self, role: Role) -> RunFile | None:
        """Return the file of a role of which a run has one, None if there is none.

        Raises:
            InputError: there are several.

        """
        found = self.of(role)
        if len(found) > 1:
            names = ", ".join(file.path.name for file in found)
            raise InputError(
                f"{self.path}: {len(found)} files of role {role.value} ({names}), and a run has one: "
                f'name the others in {RUN_TOML} with role "ignore"'
            )
        return found[0] if found else None


def read_folder(path: Path) -> Folder:
    """Return what the files of a folder are. Subfolders and hidden files are left alone.

    Raises:
        InputError: no such folder, a `run.toml` that is wrong, or no file of a known role.

    """
    if not path.is_dir():
        raise InputError(f"{path}: {'is a file; give its folder' if path.exists() else 'no such folder'}")
    settings = _settings(path / RUN_TOML)
    named = {path / name: choice for name, choice in settings.files.items()}
    for file in named:
        if not file.is_file():
            raise InputError(f"{path / RUN_TOML}: files: no such file: {file}")
    unnamed = [file for file in path.iterdir() if file.is_file() and not file.name.startswith(".")]
    found = {file: FileSettings(role=sniff(file)) for file in unnamed if file.name != RUN_TOML} | named
    files = tuple(run_file(file, found[file]) for file in sorted(found))
    if all(file.role is Role.IGNORE for file in files):
        known = ", ".join(role.value for role in Role if role is not Role.IGNORE)
        raise InputError(f"{path}: holds no file that is known as one of {known}; {RUN_TOML} can name roles")
    return Folder(path, settings, files)


def sniff(path: Path) -> Role:
    """Return what a file is by its content; IGNORE where that is not known.

    Raises:
        InputError: the file cannot be read.

    """
    head = [line for line in _head(path) if not line.isspace()]
    for line in head:
        if (role := _json_role(line)) is not Role.IGNORE:
            return role
    samples = [line for line in head if not line.startswith(b"#")]
    if samples and all(map(_SAMPLE.match, samples)):
        return Role.METRICS
    if any(map(is_log_line, head)):
        return Role.ROUTER_LOG
    if head and head[0].startswith(b"{"):
        # An object over several lines.
        return _json_role(b"".join(line for _, line in lines(path)))
    return Role.IGNORE


def _head(path: Path) -> Iterator[bytes]:
    return (line for _, line in islice(lines(path), _HEAD_LINES))


def _json_role(line: bytes) -> Role:
    try:
        keys = json_object(line).keys()
    except InputError:
        return Role.IGNORE
    return next((role for role, known in _KEYS if keys >= known), Role.IGNORE)


def run_file(path: Path, settings: FileSettings) -> RunFile:
    """Return a file of a role; what the settings leave open of its target and moment, its name says."""
    moment, target = _MOMENT.search(path.name), _TARGET.search(path.name)
    belongs = settings.role in (Role.METRICS, Role.KV_EVENTS)
    return RunFile(
        path,
        settings.role,
        settings.target or (target[1] if target and belongs else None),
        settings.moment or (_as_moment(moment[1]) if moment and settings.role is Role.METRICS else None),
    )


def _as_moment(text: str) -> Moment:
    return "before" if text == "before" else "after"


def _settings(path: Path) -> RunToml:
    if not path.is_file():
        return RunToml()
    return checked(read_toml(path), RunToml, str(path))
