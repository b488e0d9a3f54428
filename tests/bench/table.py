"""Measurements as text."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

WIDTH = 100
_NAME, _CELL = 14, 28

Runs = Sequence[Mapping[str, Any]]
"""What the runs of one side printed, in the order of the rounds."""

METRICS = {
    "wall s": "wall_s",
    "CPU s": "cpu_s",
    "peak RSS MiB": "peak_rss_mib",
    "reuse ratio": "prefix_cache_reused_ratio",
    "mean TTFT ms": "mean_ttft_ms",
    "mean ITL ms": "mean_itl_ms",
}


def comparison(title: str, sides: Mapping[str, Runs]) -> list[str]:
    """Return a table of one side, or of two and their ratio: medians, and in which range the rounds were."""
    first, *others = sides.values()
    heads = [*sides, *(" / ".join([*sides][:2]) for _ in others)]
    rounds = f"{first[0]['num_requests']:,} requests, " + (
        f"medians of {len(first)} rounds" if first[1:] else "1 round"
    )
    lines = ["", f"{title:{WIDTH - len(rounds)}}{rounds}", _line("", heads)]
    for name, key in METRICS.items():
        samples = [[run[key] for run in runs] for runs in sides.values()]
        cells = [spread(values, median(values)) if None not in values else "-" for values in samples]
        if others:
            cells.append(_ratio(*samples))
        lines.append(_line(name, cells))
    for name, runs in sides.items():
        least = min(run["completed_requests"] for run in runs)
        if least < first[0]["num_requests"]:
            lines.append(f"{name} completed only {least:,} requests")
    return lines


def _ratio(ours: Sequence[float | None], others: Sequence[float | None]) -> str:
    """Return the ratio of the medians, with the range of the ratios round by round."""
    if None in ours or None in others or 0 in others:
        return "-"
    by_round = [our / other for our, other in zip(ours, others, strict=True)]
    return spread(by_round, median(ours) / median(others))


def spread(values: Sequence[float], middle: float) -> str:
    """Return "8.88 (8.80 to 9.12)", or one number if there is one."""
    if len(values) == 1:
        return number(middle)
    return f"{number(middle)} ({number(min(values))} to {number(max(values))})"


def number(value: float) -> str:
    """Return four significant digits, and all of those before the point."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:#.4g}".rstrip(".")


def _line(name: str, cells: Sequence[str]) -> str:
    return f"{name:{_NAME}}" + "".join(f"{cell:{_CELL}}" for cell in cells).rstrip()


def side_by_side(title: str, sides: Mapping[str, Runs]) -> list[str]:
    """Return a table with a row a side: medians, and CPU time with its range and beside the first side's."""
    first = next(iter(sides.values()))
    name_width = max(map(len, sides)) + 2
    count = f"{first[0]['num_runs']:,} runs, " if "num_runs" in first[0] else ""
    count += f"{first[0]['num_requests']:,} requests, "
    count += f"medians of {len(first)} rounds" if first[1:] else "1 round"
    heads = f"{'':{name_width}}{'wall s':>8}  {'CPU s':<24}{'ms/request':>11}{'peak MiB':>10}{'CPU':>8}"
    lines = ["", f"{title}  {count}", heads]
    for name, runs in sides.items():
        cpu_s = [run["cpu_s"] for run in runs]
        middle, wall_s, mib = (
            median(cpu_s),
            *(median(run[k] for run in runs) for k in ("wall_s", "peak_rss_mib")),
        )
        ratio = middle / median(run["cpu_s"] for run in first)
        each_ms = 1000 * middle / runs[0]["num_requests"]
        lines.append(
            f"{name:{name_width}}{number(wall_s):>8}  {spread(cpu_s, middle):<24}{number(each_ms):>11}"
            f"{number(mib):>10}{ratio:>7.2f}x"
        )
    return lines
