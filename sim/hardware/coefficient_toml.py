"""Writes files of coefficients in the format of `calibration/`."""

from collections.abc import Sequence
from typing import Any

from sim.hardware.coefficient_file import Coefficient, CoefficientFile

_UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("ps", 1e-12))
_WITHOUT_UNIT = {"smooth_max_p", "tile_tokens"}
_DIGITS = 4


def to_toml(content: CoefficientFile, head: Sequence[str]) -> str:
    """Return the text of a file; `read_coefficient_file` reads it back equal if it was `rounded` before.

    Args:
        content: of the file.
        head: lines of a comment on top.

    """
    import tomlkit  # noqa: PLC0415 - only needed to write

    comment = "".join(f"# {line}".rstrip() + "\n" for line in head)
    table: dict[str, Any] = {
        "model": content.model,
        "gpu": content.gpu,
        "parallel": content.parallel.model_dump(exclude_defaults=True),
        "formats": dict(content.formats),
        "origin": content.origin,
        "summary": content.summary,
        "step": {name: _entry(name, entry) for name, entry in content.step.items()},
        "dense": {} if content.dense is None else content.dense.model_dump(),
        "frontend": {name: _entry(name, entry) for name, entry in content.frontend.items()},
        "data": [one.model_dump() for one in content.data],
        "fitted_runs": [one.model_dump() for one in content.fitted_runs],
        "held_out": [one.model_dump(exclude_none=True) for one in content.held_out],
        "draws": {name: list(column) for name, column in content.draws.items()},
    }
    return f"{comment}\n{tomlkit.dumps({key: value for key, value in table.items() if value})}"


def rounded(value: float) -> float:
    """Return a number to the digits that files of coefficients keep."""
    return float(f"{value:.{_DIGITS}g}")


def written(seconds: float) -> str:
    """Return a time to those digits with the unit that suits it: "562.5ps"."""
    value = rounded(seconds)
    unit, scale = next((row for row in _UNITS if value >= row[1]), _UNITS[0 if not value else -1])
    return f"{value / scale:.{_DIGITS}g}{unit}"


def shown(name: str, value: float) -> str:
    """Return a coefficient as it is written, for people to read."""
    return f"{rounded(value):g}" if name in _WITHOUT_UNIT else written(value)


def _entry(name: str, entry: Coefficient) -> dict[str, Any]:
    show = rounded if name in _WITHOUT_UNIT else written
    spread = {} if entry.sigma is None else {"sigma": show(entry.sigma)}
    ends = [show(end) for end in entry.range]
    return {"value": show(entry.value), "range": ends, **spread, "source": entry.source}
