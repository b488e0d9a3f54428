"""Which build of the simulator is measured: the sources of this checkout, or compiled modules beside them.

In the checkout its sources come first on the path, whatever is installed. A compiled build is measured away
from it, in an interpreter that has one: `make fast` puts it into `.venv`.
"""

import argparse
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.process import ROOT, MeasurementError, measured

PLAIN, COMPILED = "plain", "compiled"
BUILDS = {PLAIN: (PLAIN,), COMPILED: (COMPILED,), "both": (PLAIN, COMPILED)}
"""By what `--build` is asked for."""
SCRIPT = Path(__file__).with_name("ours.py")


@dataclass(frozen=True, slots=True)
class Build:
    """One build: how `tests.bench.ours` is run with it."""

    name: str
    command: tuple[str, ...]
    folder: Path
    """Where it is run."""

    def measured(self, scenario: str | Path, *overrides: str, repeat: int = 0) -> dict[str, Any]:
        """Measure a run, or a sweep with so many seeds: see `tests.bench.ours`.

        Raises:
            MeasurementError: it failed, or was made by another build than is said.

        """
        seeds = ("--repeat", str(repeat)) if repeat else ()
        found = measured([*self.command, *seeds, str(scenario), *overrides], folder=self.folder)
        if found["build"] != self.name:
            raise MeasurementError(f"the {self.name} build was to be measured; the {found['build']} one ran")
        return found


def plain() -> Build:
    """Return the sources of this checkout."""
    return Build(PLAIN, (sys.executable, "-m", "tests.bench.ours"), ROOT)


def compiled(python: str) -> tuple[Build, bool]:
    """Return the compiled build that an interpreter has, and whether it is of the sources of this checkout.

    Raises:
        MeasurementError: it has none; says what to do.

    """
    build = Build(COMPILED, (python, "-P", str(SCRIPT)), ROOT.parent)
    advice = (
        "`make fast` puts one into .venv, another interpreter that has one is given with --compiled PYTHON"
    )
    try:
        there = measured([*build.command, "--build"], folder=build.folder)
    except MeasurementError as error:
        raise MeasurementError(f"{python} has no simulator away from this checkout: {advice}") from error
    if there["build"] != COMPILED:
        raise MeasurementError(f"{python} has no compiled build, only plain sources: {advice}")
    here = measured([*plain().command, "--build"])
    return build, there["sources"] == here["sources"]


def add_build_options(parser: argparse.ArgumentParser, choices: Iterable[str]) -> None:
    """Let a benchmark be told which build it measures."""
    parser.add_argument(
        "--build",
        choices=[*choices],
        default=PLAIN,
        help="the sources of this checkout, or a compiled build; default: plain",
    )
    parser.add_argument(
        "--compiled",
        metavar="PYTHON",
        default=sys.executable,
        help="one that has a compiled build installed; default: this one, where `make fast` leaves it",
    )


def asked_builds(options: argparse.Namespace, parser: argparse.ArgumentParser) -> list[Build]:
    """Return the builds that are asked for; one that is not there ends the process with a message."""
    found = []
    for name in BUILDS[options.build]:
        if name == PLAIN:
            found.append(plain())
            continue
        python = shutil.which(options.compiled)
        if python is None:
            parser.error(f"--compiled {options.compiled}: no such program")
        try:
            build, is_current = compiled(str(Path(python).absolute()))
        except MeasurementError as error:
            parser.error(f"--build {options.build}: {error}")
        if not is_current:
            print(
                "Warning: the compiled build is of other sources than this checkout's; `make fast` makes it "
                "anew",
                file=sys.stderr,
            )
        found.append(build)
    return found
