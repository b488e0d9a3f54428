"""How a cluster and its client were started, from `run.toml` or a JSON file of command lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field

from sim.measured.formats.flags import Command, parse_command
from sim.measured.formats.records import Record, read_object
from sim.measured.formats.run_toml import CommandSettings


@dataclass(frozen=True, slots=True)
class Commands:
    """Command lines; empty or None where they are not known."""

    engines: tuple[Command, ...] = ()
    frontend: Command | None = None
    client: Command | None = None
    model_config: Mapping[str, Any] | None = None
    """The model's Hugging Face `config.json`."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Installed packages to their versions."""
    file_name: str = ""
    """The JSON file of command lines, if there is one."""
    unread: tuple[str, ...] = ()
    """Keys of that file that are not read."""


_Environment = dict[str, str | int | float | None]


class _File(Record):
    model_config = ConfigDict(extra="allow")

    worker_cmds: list[str] = Field(default_factory=list)
    worker_env: list[_Environment] | _Environment | None = None
    frontend_cmd: str | None = None
    frontend_env: _Environment | None = None
    bench_cmd: str | None = None
    versions: dict[str, str] = Field(default_factory=dict)
    # `model_config` is a name of pydantic's own.
    hf_config: dict[str, Any] | None = Field(default=None, alias="model_config")


def commands(settings: CommandSettings, path: Path | None) -> Commands:
    """Return what the settings say, and for what they leave open the file.

    Raises:
        InputError: the file is not of that form, or a quote is not closed.

    """
    file = read_object(path, _File) if path else _File()
    frontend, client = settings.frontend or file.frontend_cmd, settings.client or file.bench_cmd
    engines = [*map(parse_command, settings.engines or file.worker_cmds)]
    environments = _environments(file, len(engines))
    unread = [*(file.model_extra or ()), *(["worker_env"] if environments is None else [])]
    pairs = zip(engines, environments or [None] * len(engines), strict=True)
    return Commands(
        tuple(_with(engine, environment) for engine, environment in pairs),
        _with(parse_command(frontend), file.frontend_env) if frontend else None,
        parse_command(client) if client else None,
        file.hf_config,
        file.versions,
        path.name if path else "",
        tuple(unread),
    )


def _environments(file: _File, n: int) -> Sequence[_Environment | None] | None:
    """Return the environment of each engine, None if it is not told whose is which."""
    given = file.worker_env
    if isinstance(given, list):
        return given if len(given) == n else None
    return [given] * n


def _with(command: Command, environment: _Environment | None) -> Command:
    """Return a command with variables of its environment; those in front of the command win."""
    given = {name: str(value) for name, value in (environment or {}).items() if value is not None}
    return replace(command, variables={**given, **command.variables})
