"""The files of a recorded run, by what they are and whose."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sim.base.errors import InputError
from sim.base.words import exactly
from sim.measured.damage import check_unknown
from sim.measured.formats.run_toml import NAME, FileSettings, Moment, RunToml, read_run_toml
from sim.measured.roles import Role, sniff

_MOMENT = re.compile(r"(?:^|[-_.])(before|after)(?=[-_.]|$)")
_TARGET = re.compile(
    r"(?:^|[-_.])((?:worker|workers|engine|prefill|decode|frontend|router)[-_]?\d*)(?=[-_.]|$)"
)


@dataclass(frozen=True, slots=True)
class RunFile:
    """One file of a run."""

    path: Path
    role: Role
    target: str | None
    """Whose it is, for files of a worker or of the frontend: worker0, prefill1, frontend, ..."""
    moment: Moment | None
    """Prometheus text: whether it was scraped before or after the run."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A run's files by role, in the order of their names."""

    path: Path
    settings: RunToml
    files: tuple[RunFile, ...]
    notes: tuple[str, ...] = ()
    """What is odd about files that are not read, a sentence each."""

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
                f"{self.path}: {exactly(len(found), 'file')} of role {role.value} ({names}), and a run has "
                "one: "
                f'name the others in {NAME} with role "ignore"'
            )
        return found[0] if found else None


def read_folder(path: Path) -> Folder:
    """Return what the files of a folder are. Subfolders and hidden files are left alone.

    Raises:
        InputError: no such folder, a `run.toml` that is wrong, no file of a known role, or a damaged one.

    """
    if not path.is_dir():
        raise InputError(f"{path}: {'is a file; give its folder' if path.exists() else 'no such folder'}")
    settings = read_run_toml(path)
    named = {path / name: choice for name, choice in settings.files.items()}
    for file in named:
        if not file.is_file():
            raise InputError(f"{path / NAME}: files: no such file: {file}")
    unnamed = [file for file in sorted(path.iterdir()) if file.is_file() and not file.name.startswith(".")]
    notes: list[str] = []
    unnamed = [file for file in unnamed if file.name != NAME and file not in named]
    with way_out():
        found = {file: FileSettings(role=_role(file, notes)) for file in unnamed} | named
    files = tuple(run_file(file, found[file]) for file in sorted(found))
    if all(file.role is Role.IGNORE for file in files):
        known = ", ".join(role.value for role in Role if role is not Role.IGNORE)
        raise InputError(f"{path}: holds no file that is known as one of {known}; {NAME} can name roles")
    return Folder(path, settings, files, tuple(notes))


def _role(path: Path, notes: list[str]) -> Role:
    role = sniff(path)
    if role is Role.IGNORE and (note := check_unknown(path)):
        notes.append(note)
    return role


@contextmanager
def way_out() -> Iterator[None]:
    """Add to an InputError of one of a run's files how to go on without the file."""
    try:
        yield
    except InputError as error:
        if '"ignore"' in str(error):
            raise
        raise InputError(
            f'{error}; to go on without that file give it the role "ignore" in {NAME}'
        ) from error


def run_file(path: Path, settings: FileSettings) -> RunFile:
    """Return a file of a role; what the settings leave open of its target and moment, its name says."""
    moment, target = _MOMENT.search(path.name), _TARGET.search(path.name)
    belongs = settings.role in (Role.METRICS, Role.KV_EVENTS, Role.ENGINE_LOG)
    return RunFile(
        path,
        settings.role,
        settings.target or (target[1] if target and belongs else None),
        settings.moment or (_as_moment(moment[1]) if moment and settings.role is Role.METRICS else None),
    )


def _as_moment(text: str) -> Moment:
    return "before" if text == "before" else "after"
