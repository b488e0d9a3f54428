"""Numbers as a person reads them in a table: a fixed number of digits, a dash where nothing was measured."""

from collections.abc import Callable

MISSING = "-"

_TIMES = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6))


def seconds(value: float | None) -> str:
    """Return a time to three digits: "13.2 ms", "77.0 s", "1,234 s"."""
    if value is None:
        return MISSING
    size = abs(float(f"{value:.3g}"))
    unit, factor = next((row for row in _TIMES if size >= row[1]), _TIMES[-1])
    return f"{_digits(value / factor, 3)} {unit}" if size else "0 s"


def count(value: float | None) -> str:
    """Return a count in full below 100,000, then to four digits: "1,234", "213.4K", "119.3M"."""
    if value is None:
        return MISSING
    if abs(value) < 99_999.5:
        return f"{value:,.0f}"
    size = abs(float(f"{value:.4g}"))
    factor, letter = next((row for row in ((1e9, "G"), (1e6, "M")) if size >= row[0]), (1e3, "K"))
    return f"{_digits(value / factor, 4)}{letter}"


def percent(share: float | None) -> str:
    """Return a share in percent to three digits: "284 %", "8.61 %", "0 %"."""
    return MISSING if share is None else f"{_digits(100 * share, 3)} %"


def number(value: float | None) -> str:
    """Return a number without a unit to three digits: "6.18", "1,234"."""
    return MISSING if value is None else _digits(value, 3)


def between(low: float | None, high: float | None, shown: Callable[[float | None], str]) -> str:
    """Return a range: "1.20 to 3.40 s", "950 ms to 1.10 s", "3.40 s" if both ends read so; a dash if none."""
    if low is None or high is None:
        return MISSING
    first, last = shown(low), shown(high)
    if first == last:
        return last
    number, space, unit = first.partition(" ")
    return f"{number if space and last.endswith(space + unit) else first} to {last}"


def bar(share: float, cells: int) -> str:
    """Return a bar that fills `share` (0 to 1) of so many cells; anything above 0 shows."""
    eighths = max(round(share * cells * 8), 1 if share else 0)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _digits(value: float, digits: int) -> str:
    """Return so many significant digits, zeros kept, never fewer than those before the point."""
    if not value:
        return "0"
    rounded = float(f"{value:.{digits}g}")
    whole = len(f"{abs(rounded):.0f}")
    return f"{value:,.0f}" if whole >= digits else f"{rounded:#.{digits}g}"
