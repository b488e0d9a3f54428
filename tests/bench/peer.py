"""Compares the simulator with Dynamo's own replay, or variants of its own: see README.md in this folder.

All sides run in turn, each time in a new process.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.bench.builds import BUILDS, Build, add_build_options, asked_builds
from tests.bench.cases import CASES, OWN_CASES, Case, OwnCase
from tests.bench.options import existing_file, new_file, positive
from tests.bench.process import ROOT, MeasurementError, measured
from tests.bench.table import Runs, comparison, number, side_by_side

PEER_SCRIPT = ROOT.parent / "shared" / "peers" / "dynamo_replay.py"
AGENT_SCRIPT = "make_agent_trace.py"
QUIET = {"DYN_LOG": "error"}
"""Otherwise the replay logs every choice of the router, which takes time."""
VERSION = "import importlib.metadata as m; print('Dynamo', m.version('ai-dynamo'))"
OURS = "ours, "
"""Before the name of the build."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit status."""
    options = parse(arguments)
    print(f"measured: {' and '.join(build.name for build in options.builds)} build", flush=True)
    results = []
    try:
        with tempfile.TemporaryDirectory() as folder:
            traces = {case: trace_of(case, options, Path(folder)) for case in options.cases}
            for case, trace in traces.items():
                sides = run_case(case, trace, options)
                for build in options.builds:
                    pair = OURS + build.name, options.peer_name
                    shown = {name: runs for name, runs in sides.items() if name in pair}
                    print("\n".join(comparison(f"{case.name}: {case.about}", shown)), flush=True)
                results.append({"case": case.name, "runs": sides})
        for name, case in options.own_cases:
            sides = run_own(name, case, options)
            print("\n".join(side_by_side(f"{name}: {case.about}", sides)), flush=True)
            results.append({"case": f"{name}: {case.about}", "runs": sides})
    except MeasurementError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the checked options; bad ones end the process with a message and status 2."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.peer",
        description="Compare the simulator with Dynamo's own replay, or with itself.",
    )
    parser.add_argument("--peer", metavar="PYTHON", help="a Python that has Dynamo; without, ours runs alone")
    parser.add_argument("--peer-script", type=Path, metavar="FILE", default=PEER_SCRIPT, help="Dynamo's side")
    parser.add_argument(
        "--trace", type=existing_file, metavar="FILE", help="for the cases that both have, but agent"
    )
    parser.add_argument(
        "--agent-trace",
        type=existing_file,
        metavar="FILE",
        help=f"for case agent; if absent, {AGENT_SCRIPT} beside Dynamo's side makes it",
    )
    parser.add_argument(
        "--case",
        action="append",
        choices=[*CASES, "all", *OWN_CASES],
        required=True,
        help="what to run; repeatable; all: those that Dynamo has too",
    )
    add_build_options(parser, BUILDS)
    parser.add_argument("--rounds", type=positive, default=5, metavar="N", help="default: 5")
    parser.add_argument(
        "--json", type=new_file, metavar="FILE", help="where to write the numbers of every run"
    )
    options = parser.parse_args(arguments)
    names = dict.fromkeys(name for case in options.case for name in (CASES if case == "all" else (case,)))
    options.cases = [CASES[name] for name in names if name in CASES]
    options.own_cases = [(name, case) for name in names for case in OWN_CASES.get(name, ())]
    if options.trace is None and not all(case.agents for case in options.cases):
        parser.error("--trace is missing: every case but agent and those of ours alone replays it")
    needs_script = options.cases and (
        options.peer or (options.agent_trace is None and any(case.agents for case in options.cases))
    )
    if needs_script and not options.peer_script.is_file():
        parser.error(f"--peer-script {options.peer_script}: no such file")
    options.peer_name = options.peer and peer_version(options.peer, parser)
    options.builds = asked_builds(options, parser)
    return options


def peer_version(python: str, parser: argparse.ArgumentParser) -> str:
    """Return the name and version of the other side."""
    if shutil.which(python) is None:
        parser.error(f"--peer {python}: no such program")
    asked = subprocess.run([python, "-c", VERSION], capture_output=True, text=True, check=False)
    if asked.returncode:
        parser.error(f"--peer {python}: has no package ai-dynamo, or is no Python")
    return asked.stdout.strip()


def trace_of(case: Case, options: argparse.Namespace, folder: Path) -> Path:
    """Return the trace that a case replays, made where it has to be."""
    given: Path | None = options.agent_trace if case.agents else options.trace
    if given is not None:
        return given
    made = folder / "agent.jsonl"
    script = options.peer_script.with_name(AGENT_SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script), str(made)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise MeasurementError(f"{script} made no trace:\n{done.stderr[-2000:]}")
    return made


def run_case(case: Case, trace: Path, options: argparse.Namespace) -> dict[str, Runs]:
    """Run both sides in turn; return the runs of each.

    Dynamo breaks ties at random and without a seed. Ours has a seed, and takes another one in each round.
    """

    def of_build(build: Build) -> Callable[[int], dict]:
        return lambda seed: build.measured(case.scenario, f"workload.path={trace}", f"seed={seed}")

    sides = {OURS + build.name: of_build(build) for build in options.builds}
    if options.peer:
        command = [options.peer, str(options.peer_script), str(trace), *case.peer]
        sides[options.peer_name] = lambda seed: measured(command, QUIET)
    return in_turn(case.name, sides, options.rounds)


def run_own(name: str, case: OwnCase, options: argparse.Namespace) -> dict[str, Runs]:
    """Run all variants with every build in turn; return the runs of each. All rounds have the same seed."""

    def of_build(build: Build, sets: Sequence[str]) -> Callable[[int], dict]:
        return lambda seed: build.measured(case.scenario, *case.overrides, *sets, repeat=case.repeat)

    sides = {
        f"{build.name}{', ' if variant else ''}{variant}": of_build(build, sets)
        for build in options.builds
        for variant, sets in case.variants.items()
    }
    return in_turn(name, sides, options.rounds)


def in_turn(name: str, sides: Mapping[str, Callable[[int], dict]], rounds: int) -> dict[str, Runs]:
    """Run every side once a round."""
    found: dict[str, list[dict]] = {side: [] for side in sides}
    for seed in range(rounds):
        for side, measure in sides.items():
            found[side].append(measure(seed))
        walls = ", ".join(f"{side} {number(runs[-1]['wall_s'])} s" for side, runs in found.items())
        print(f"{name}, round {seed + 1} of {rounds}: {walls}", file=sys.stderr, flush=True)
    return {**found}


if __name__ == "__main__":
    sys.exit(main())
