"""Shows how time and memory grow with requests, workers and blocks: `python -m tests.bench.scale`.

Three series on a synthetic trace, each point in a new process. All else is scenario agg8:

- requests grow on 256 workers: what one costs should stay the same;
- workers grow, and with them the rate of the same requests. The load of each worker stays, so what grows is
  the cost of a decision, and of making the workers, which few requests share;
- blocks shrink on 8 workers, for the same requests and pools of the same number of tokens.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.bench.builds import COMPILED, PLAIN, Build, add_build_options, asked_builds
from tests.bench.cases import CASES
from tests.bench.options import positives
from tests.bench.process import MeasurementError
from tests.bench.synthetic import REQUESTS_PER_S, write_trace
from tests.bench.table import number

POOL_TOKENS = 4096 * 512
FULL = {"requests": (10_000, 100_000, 1_000_000), "workers": (8, 64, 256, 1024), "blocks": (800, 512, 64, 16)}
QUICK = {"requests": (1000, 4000), "workers": (8, 64), "blocks": (512, 64)}
"""Points of each series."""
COLUMNS = {
    "requests": 9,
    "workers": 9,
    "block": 7,
    "wall s": 9,
    "CPU s": 9,
    "CPU ms/request": 16,
    "peak MiB": 10,
    "KiB/request": 13,
    "mean TTFT ms": 14,
}
"""With their widths."""


class Point(NamedTuple):
    """One run."""

    requests: int
    workers: int
    block_tokens: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit status."""
    options = parse(arguments)
    [build] = options.builds
    print(f"measured: {build.name} build", flush=True)
    try:
        for name, points in series(options):
            print(f"\n{name}\n{line(COLUMNS)}", flush=True)
            for point in points:
                print(line(measure(point, options.seed, build)), flush=True)
    except MeasurementError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the checked options; bad ones end the process with a message and status 2."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.scale",
        description="Show how time and memory grow, in the series that are named, or in all three.",
    )
    for name, points in FULL.items():
        default = ",".join(map(str, points))
        parser.add_argument(
            f"--{name}", type=positives, nargs="?", const=(), metavar="N,N", help=f"default: {default}"
        )
    parser.add_argument("--quick", action="store_true", help="few and small points: less than a minute")
    parser.add_argument("--seed", type=int, default=0, help="of the trace; default: 0")
    add_build_options(parser, (PLAIN, COMPILED))
    options = parser.parse_args(arguments)
    options.builds = asked_builds(options, parser)
    return options


def series(options: argparse.Namespace) -> Iterator[tuple[str, list[Point]]]:
    """Yield the name of each series to run, and its points."""
    asked = {name: getattr(options, name) for name in FULL}
    if all(points is None for points in asked.values()):
        asked = dict.fromkeys(FULL, ())
    default, fixed = (QUICK, 1000) if options.quick else (FULL, 20_000)
    workers = 64 if options.quick else 256
    for name, points in asked.items():
        if points is not None:
            numbers = points or default[name]
            if name == "requests":
                yield f"requests, on {workers} workers", [Point(n, workers, 512) for n in numbers]
            elif name == "workers":
                yield "workers, for the same requests", [Point(fixed, n, 512) for n in numbers]
            else:
                yield "tokens of a block", [Point(fixed, 8, n) for n in numbers]


def measure(point: Point, seed: int, build: Build) -> list[str]:
    """Run one point; return the cells of its row."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.jsonl"
        write_trace(trace, point.requests, REQUESTS_PER_S * point.workers, seed)
        run = build.measured(
            CASES["agg8"].scenario,
            f"workload.path={trace}",
            f"workers.count={point.workers}",
            f"engine.block_size={point.block_tokens}",
            f"engine.kv_blocks={POOL_TOKENS // point.block_tokens}",
        )
    grown_kib = 1024 * (run["peak_rss_mib"] - run["imported_rss_mib"])
    measured = (
        run["wall_s"],
        run["cpu_s"],
        1000 * run["cpu_s"] / point.requests,
        run["peak_rss_mib"],
        grown_kib / point.requests,
        run["mean_ttft_ms"],
    )
    return [*(f"{n:,}" for n in point), *map(number, measured)]


def line(cells: Iterable[str]) -> str:
    """Return the cells below the column heads, flush right."""
    return "".join(f"{cell:>{width}}" for cell, width in zip(cells, COLUMNS.values(), strict=True))


if __name__ == "__main__":
    sys.exit(main())
