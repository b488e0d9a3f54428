"""Numbers as a person reads them: their digits and units, one or many, a dash where nothing was measured.

Times, counts, shares and plain numbers have a fixed number of digits, so that columns of them compare. What
is kept in memory is told in binary units (KiB, GiB), what is sent in decimal ones (KB, GB).
"""

from collections.abc import Callable, Sequence

MISSING = "-"

_TIMES = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6))
_ALL_TIMES = (*_TIMES, ("ns", 1e-9), ("ps", 1e-12))
_BINARY = (("TiB", 2.0**40), ("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("B", 1.0))
_DECIMAL = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3))
_CLOCK = ((86_400.0, 3600.0, "d", "h"), (3600.0, 60.0, "h", "min"))


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


def plural(n: float, noun: str) -> str:
    """Return the noun as it stands behind a number: "1 request", "0 requests", "2 policies"."""
    if n == 1:
        return noun
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def counted(n: float, noun: str) -> str:
    """Return how many there are, as a table has it: "1 request", "213.4K tokens"."""
    return f"{count(n)} {plural(n, noun)}"


def exactly(n: int, noun: str) -> str:
    """Return how many there are to the last one, as messages have it: "1 request", "213,412 tokens"."""
    return f"{n:,} {plural(n, noun)}"


def numbered(noun: str, numbers: Sequence[int]) -> str:
    """Return which of several are meant: "seed 0", "seeds 0 to 4", "seeds 0, 3 and 5"."""
    first, last = numbers[0], numbers[-1]
    if len(numbers) == 1:
        return f"{noun} {first}"
    if len(numbers) > 2 and list(numbers) == list(range(first, last + 1)):
        return f"{plural(2, noun)} {first} to {last}"
    return f"{plural(2, noun)} {', '.join(map(str, numbers[:-1]))} and {last}"


def about(time_s: float) -> str:
    """Return a guess of a time, no finer than a guess is: "about 40 s", "about 3 min", "about 2 h 10 min"."""
    if time_s < 1:
        return "about 1 s"
    if time_s < 55:
        return f"about {round(time_s) if time_s < 10 else 5 * round(time_s / 5)} s"
    return f"about {_clock(max(60 * round(time_s / 60), 60))}"


def data(n_bytes: float | None) -> str:
    """Return what was sent, in decimal units to four digits: "62.97 GB", "205.1 KB", "512 B"."""
    if n_bytes is None:
        return MISSING
    size = abs(float(f"{n_bytes:.4g}"))
    unit, factor = next((row for row in _DECIMAL if size >= row[1]), ("B", 1.0))
    return f"{_digits(n_bytes / factor, 4) if factor > 1 else f'{n_bytes:,.0f}'} {unit}"


def format_bytes(n_bytes: float, digits: int = 2) -> str:
    """Return a size of memory in binary units with up to `digits` decimals: "39.93 GiB", "32 KiB"."""
    unit, factor = next(
        (row for row in _BINARY if round(abs(n_bytes) * 1024 / row[1], digits) >= 1024), ("B", 1.0)
    )
    number = f"{n_bytes / factor:,.{digits}f}"
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {unit}"


def format_seconds(seconds: float) -> str:
    """Return a time that was given, to three significant digits at most: "13.2 ms", "77 s", "1,234 s"."""
    rounded = float(f"{seconds:.3g}")
    unit, factor = next((row for row in _ALL_TIMES if abs(rounded) >= row[1]), ("s", 1.0))
    return f"{seconds:,.0f} s" if abs(rounded) >= 1000 else f"{rounded / factor:.3g} {unit}"


def bar(share: float, cells: int) -> str:
    """Return a bar that fills `share` (0 to 1) of so many cells; anything above 0 shows."""
    eighths = max(round(share * cells * 8), 1 if share else 0)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _clock(time_s: int) -> str:
    """Return whole minutes: "3 min", "2 h 10 min", "1 d 3 h"."""
    for whole, part, name, smaller in _CLOCK:
        if time_s >= whole:
            left = int(time_s % whole // part)
            return f"{int(time_s // whole)} {name}" + (f" {left} {smaller}" if left else "")
    return f"{time_s // 60} min"


def _digits(value: float, digits: int) -> str:
    """Return so many significant digits, zeros kept, never fewer than those before the point."""
    if not value:
        return "0"
    rounded = float(f"{value:.{digits}g}")
    whole = len(f"{abs(rounded):.0f}")
    return f"{value:,.0f}" if whole >= digits else f"{rounded:#.{digits}g}"
