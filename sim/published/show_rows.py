"""A row's numbers in words: with their units, what they may be, where they are of."""

from collections.abc import Callable

from sim.base import words
from sim.published.measures import Tolerance
from sim.published.scores import CellScore
from sim.published.targets import Target

_SHOWN: dict[str, Callable[[float], str]] = {
    "s": words.seconds,
    "ms": lambda value: words.seconds(value / 1e3),
    "fraction": words.percent,
    "percent": lambda value: words.percent(value / 100),
    "tokens": words.count,
    "blocks": words.count,
    **dict.fromkeys(("ratio", "sessions", "workers"), words.number),
}


def quantity(target: Target, value: float | None) -> str:
    """Return a row's number with its unit."""
    if value is None:
        return words.MISSING
    shown = _SHOWN.get(target.unit)
    text = shown(abs(value)) if shown else f"{_plain(abs(value))} {target.unit}"
    return f"-{text}" if value < 0 else text


def _plain(value: float) -> str:
    """Return four digits, of large numbers all before the point: "39.93", "10,050"."""
    return f"{value:,.0f}" if value >= 9_999.5 else f"{value:.4g}"


def band(target: Target) -> str:
    """Return what a row's number may be."""
    if (printed := target.one_number) is not None:
        return f"{quantity(target, printed)} {target.tolerance or Tolerance(0.0, points=False)}"
    low, high = target.band
    if low is None or high is None:
        return f"{'at most' if low is None else 'at least'} {quantity(target, high if low is None else low)}"
    if low == high:
        return quantity(target, low)
    return _range(target, low, high)


def place(score: CellScore) -> str:
    """Return where a number is of."""
    return score.cell.place


def interval(target: Target, ends: tuple[float, float] | None) -> str:
    """Return from where to where most runs are."""
    return words.MISSING if ends is None else _range(target, *ends)


def _range(target: Target, low: float, high: float) -> str:
    """Return "100 to 400 ms", or "948 ms to 3.29 s" where the units differ."""
    first, unit = quantity(target, low).partition(" ")[::2]
    last = quantity(target, high)
    return f"{first} to {last}" if last.partition(" ")[2] == unit else f"{first} {unit} to {last}"


def shown_share(score: CellScore) -> str:
    """Return how many of the runs, or of the sets of sessions, are in the band each for itself."""
    n = len(score.values)
    return words.MISSING if score.share is None else f"{round(score.share * n)} of {n}"
