"""How a cluster and its client were started, from `run.toml` or a JSON file of command lines."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from sim.measured.flags import Command, parse_command
from sim.measured.records import Record, read_object
from sim.measured.run_toml import CommandSettings


@dataclass(frozen=True, slots=True)
class Commands:
    """Command lines; empty or None where they are not known."""

    engines: tuple[Command, ...] = ()
    frontend: Command | None = None
    client: Command | None = None
    model_config: Mapping[str, Any] | None = None
    """The model's Hugging Face `config.json`."""


class _File(Record):
    worker_cmds: list[str] = Field(default_factory=list)
    frontend_cmd: str | None = None
    bench_cmd: str | None = None
    # `model_config` is a name of pydantic's own.
    hf_config: dict[str, Any] | None = Field(default=None, alias="model_config")


def commands(settings: CommandSettings, path: Path | None) -> Commands:
    """Return what the settings say, and for what they leave open the file.

    Raises:
        InputError: the file is not of that form, or a quote is not closed.

    """
    file = read_object(path, _File) if path else _File()
    frontend, client = settings.frontend or file.frontend_cmd, settings.client or file.bench_cmd
    return Commands(
        tuple(map(parse_command, settings.engines or file.worker_cmds)),
        parse_command(frontend) if frontend else None,
        parse_command(client) if client else None,
        file.hf_config,
    )
