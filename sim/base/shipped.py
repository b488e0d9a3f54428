"""Find the files that come with the simulator by name: scenarios, presets, coefficients, published clusters.

They stand beside the package in a source checkout (`scenarios/`, `calibration/`) and inside it in an
installed wheel (`sim/_shipped/`).
"""

from pathlib import Path
from typing import Any, Literal

from sim.base import reading, toml_text
from sim.base.errors import InputError
from sim.base.messages import did_you_mean

PresetKind = Literal["models", "gpus"]
"""The folder of a preset below `scenarios/presets/`."""
FROM_TABLES = "-aic"
"""Ends the names of files from AIConfigurator's tables."""
_OWN = {"models": "give the path of its config.json", "gpus": "write a table [gpu] of its numbers"}
"""What to do about what no preset is for."""


def shipped_root(package: Path = Path(__file__).parents[1]) -> Path:
    """Return the folder that holds `scenarios/` and `calibration/` for the package in `package`."""
    installed = package / "_shipped"
    return installed if installed.is_dir() else package.parent


def scenario_names() -> list[str]:
    """Return the names of the shipped scenarios, sorted."""
    return _stems(shipped_root() / "scenarios")


def scenario_path(name: str) -> Path:
    """Return the file of a shipped scenario.

    Raises:
        InputError: no such scenario; names the nearest.

    """
    return _find(shipped_root() / "scenarios", name, "scenario")


def short_name(source: str | Path) -> str:
    """Return the last part of a path, without ".toml"; of a mere name, the name.

    Raises:
        InputError: as `as_path`.

    """
    return as_path(source).name.removesuffix(".toml")


def as_path(source: str | Path) -> Path:
    """Return the name or file of a scenario as a path.

    Raises:
        InputError: it is neither: from Python anything can come.

    """
    if not isinstance(source, str | Path):
        raise InputError(
            f"a {type(source).__name__} is no scenario: give a name, a TOML file, or a loaded scenario"
        )
    return Path(source)


def preset_names(kind: PresetKind) -> list[str]:
    """Return the names of the shipped presets of one kind, sorted."""
    return _stems(_presets(kind))


def preset(kind: PresetKind, name: str) -> dict[str, Any]:
    """Return the settings of a shipped model or GPU, as its TOML file has them.

    Raises:
        InputError: no such preset; names the nearest.

    """
    return read_toml(_find(_presets(kind), name, kind.removesuffix("s"), f"; for another, {_OWN[kind]}"))


def coefficients_path(name: str) -> Path | None:
    """Return the shipped file of step-time coefficients of this name, or None where none was made.

    One that was fitted or put together by hand goes before one from AIConfigurator's tables.
    """
    calibration, aic = _coefficients()
    paths = (calibration / f"{name}.toml", aic / f"{name}{FROM_TABLES}.toml")
    return next((path for path in paths if path.is_file()), None)


def coefficients_named(path_or_name: str) -> Path:
    """Return a file of coefficients by its path or, if it is a shipped one, by its name without .toml.

    Raises:
        InputError: no file of this name is shipped; names the nearest.

    """
    if is_path(path_or_name):
        return Path(path_or_name)
    files = {file.stem: file for folder in _coefficients() for file in folder.glob("*.toml")}
    if path_or_name not in files:
        nearest = did_you_mean(path_or_name, sorted(files))
        raise InputError(f"no file of coefficients is called {path_or_name!r}{nearest}")
    return files[path_or_name]


def session_profile(name: str) -> dict[str, Any]:
    """Return the fitted numbers of a profile of coding-agent sessions."""
    return read_toml(shipped_root() / "calibration" / "sessions" / f"{name}.toml")


def published_names() -> list[str]:
    """Return the names of the shipped published clusters, sorted: folders with a file study.toml."""
    return sorted(path.parent.name for path in _published().glob("*/study.toml"))


def published_path(path_or_name: str) -> Path:
    """Return the folder of a published cluster by its path or, if it is a shipped one, by its name.

    Raises:
        InputError: no such folder; names the nearest that is shipped.

    """
    names, path = published_names(), Path(path_or_name)
    if path_or_name in names:
        return _published() / path_or_name
    if not path.is_dir():
        what = "folder" if len(path.parts) > 1 else "published cluster"
        raise InputError(f"no {what} is called {path_or_name!r}{did_you_mean(path_or_name, names)}")
    return path


def is_path(path_or_name: str) -> bool:
    """Tell a path (it has a folder or ends in .toml) from the name of a shipped file."""
    path = Path(path_or_name)
    return path.suffix == ".toml" or len(path.parts) > 1


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file.

    Raises:
        InputError: the file cannot be read or is not TOML; names the file and, for a syntax error, the place.

    """
    return parse_toml(path, read_text(path))


def read_text(path: Path) -> str:
    """Return the text of a TOML file; raises as `read_toml`."""
    try:
        return reading.text(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a TOML file: {error}") from error


def parse_toml(path: Path, text: str) -> dict[str, Any]:
    """Return what the text of a file says; raises as `read_toml`."""
    try:
        return toml_text.parse(text)
    except ValueError as error:
        raise InputError(f"{path}: not a TOML file: {error}") from error


def _coefficients() -> tuple[Path, ...]:
    """Return the folder of coefficient files, and that of those from AIConfigurator's tables."""
    calibration = shipped_root() / "calibration"
    return calibration, calibration / "aic"


def _published() -> Path:
    return shipped_root() / "calibration" / "published"


def _presets(kind: PresetKind) -> Path:
    return shipped_root() / "scenarios" / "presets" / kind


def _stems(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.toml"))


def _find(folder: Path, name: str, what: str, otherwise: str = "") -> Path:
    known = _stems(folder)
    if name not in known:
        raise InputError(f"no {what} is called {name!r}{did_you_mean(name, known)}{otherwise}")
    return folder / f"{name}.toml"
