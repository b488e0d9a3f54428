"""`run.toml`, beside the files of a recorded run: what they do not tell by themselves."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from sim.base.bounds import Count, Factor
from sim.base.settings import Settings
from sim.base.shipped import read_toml
from sim.measured.formats.records import checked
from sim.measured.roles import Role
from sim.workload.formats import FormatName

NAME = "run.toml"

Moment = Literal["before", "after"]


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
    chunk_tokens: Count | None = None
    """Tokens of one hash id."""
    sec_multiplier: Factor | None = None
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


def read_run_toml(folder: Path) -> RunToml:
    """Return what the folder's `run.toml` says, defaults without one.

    Raises:
        InputError: not TOML, a key that is not known, or a value that is not what it must be.

    """
    path = folder / NAME
    return checked(read_toml(path), RunToml, str(path)) if path.is_file() else RunToml()
