"""Compares what one routing choice takes in two checkouts: `python -m tests.bench.choose OTHER`.

A choice is what a request costs its router: costs of all ranks, the policy, booking, first token and end,
with an index and bookings of a cluster under load. The two sides run in turn, each time in a new process, in
the checkout's folder and with the Python of its `.venv`, where it has one. OTHER may be a `git worktree` of
the commit before.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from tests.bench.options import positives
from tests.bench.process import ROOT, MeasurementError, measured

ONE_SIDE = """
import json, sys
from time import perf_counter
from sim.router import Query, Router, RouterConfig
from sim.router import router as module
from sim.base.uniform import uniform

workers, choices = int(sys.argv[1]), int(sys.argv[2])
router = Router(RouterConfig(), 16, workers)
prompts = []
for session in range(64):
    shared, own = range(100), range(1000 * session + 1000, 1000 * session + 1400)
    prompts.append([*shared, *own])
    for rank in (session % workers, 7 * session % workers):
        router.stored(rank, None, prompts[-1][: 200 + 3 * session], "device")
taken_s, open_bookings = [], []
for index in range(choices):
    blocks = prompts[index % 64]
    query = Query(index, 16 * len(blocks) + 1, blocks)
    draw = uniform(0, "route", index)
    start_s = perf_counter()
    decision = router.choose(query, 0.001 * index, draw)
    booking = router.book(query, decision.chosen, 0.001 * index)
    open_bookings.append(booking)
    if index > 2 * workers:
        early = open_bookings[index - workers]
        router.first_token(early, 0.001 * index)
        router.free(open_bookings[index - 2 * workers], 0.001 * index)
    taken_s.append(perf_counter() - start_s)
settled = sorted(taken_s[choices // 4 :])
print(json.dumps({"choice_us": 1e6 * settled[len(settled) // 2], "module": module.__file__}))
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit status."""
    options = parse(arguments)
    try:
        for workers in options.workers:
            print(line(options.other, workers, options), flush=True)
    except MeasurementError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the checked options; bad ones end the process with a message and status 2."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.choose", description="Compare one choice.")
    parser.add_argument("other", type=Path, help="another checkout, such as a git worktree of main")
    parser.add_argument("--workers", type=positives, default=(8, 1024), metavar="N,N", help="default: 8,1024")
    parser.add_argument("--rounds", type=int, default=7, help="runs of each side; default: 7")
    parser.add_argument("--choices", type=int, default=3000, help="of a run; default: 3000")
    return parser.parse_args(arguments)


def line(other: Path, workers: int, options: argparse.Namespace) -> str:
    """Return what was measured for a number of workers, and of which builds."""
    ours, theirs = [], []
    for _ in range(options.rounds):
        ours.append(one_side(ROOT, workers, options.choices))
        theirs.append(one_side(other.resolve(), workers, options.choices))
    here_us, there_us = ([run["choice_us"] for run in runs] for runs in (ours, theirs))
    ratios = sorted(here / there for here, there in zip(here_us, there_us, strict=True))
    builds = " and ".join(dict.fromkeys(build(run["module"]) for run in (ours[0], theirs[0])))
    here, there = median(here_us), median(there_us)
    return (
        f"{workers:,} workers: {here:.1f} us here, {there:.1f} us there ({builds}); "
        f"ratio {here / there:.3f}, of rounds {ratios[0]:.3f} to {ratios[-1]:.3f}"
    )


def build(module: str) -> str:
    """Say what kind of module the router was."""
    return "plain Python" if module.endswith(".py") else "compiled"


def one_side(checkout: Path, workers: int, choices: int) -> dict[str, Any]:
    """Run one side in a process of its own.

    Raises:
        MeasurementError: it failed, or there is no simulator in the folder.

    """
    if not (checkout / "sim").is_dir():
        raise MeasurementError(f"{checkout}: no checkout, it has no folder sim")
    own = checkout / ".venv" / "bin" / "python"
    python = str(own) if own.exists() else sys.executable
    return measured([python, "-c", ONE_SIDE, str(workers), str(choices)], folder=checkout)


if __name__ == "__main__":
    sys.exit(main())
