"""Tries every mutant in copies of the checkout and says which survive: `python -m tests.mutants [WORD ...]`.

Each word chooses the mutants with it in their name or file. Status 0: all tests pass without a mistake, and
every mistake is caught; 1: not so.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple

from tests.mutants.mutant import ROOT, Mutant, read_mutants

COPIED = ("sim", "tests", "scenarios", "calibration", "pyproject.toml")
LONGEST_S = 120
"""A mistake that makes tests hang is caught as well."""

_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


class Verdict(NamedTuple):
    """What became of a mutant."""

    word: Literal["caught", "SURVIVES", "out of date"]
    by: str = ""
    """The test that noticed."""


def main() -> int:
    """Try the mutants that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("words", nargs="*", help="only mutants with one of these in their name or file")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="at a time")
    options = parser.parse_args()
    chosen = [
        mutant
        for mutant in read_mutants()
        if not options.words or any(word in f"{mutant.says} {mutant.file}" for word in options.words)
    ]
    with _copies(options.processes) as copies, ThreadPoolExecutor(options.processes) as threads:
        tests = sorted({test for mutant in chosen for test in mutant.tests})
        if not all(threads.map(lambda test: _pass(copies, (test,)), tests)):
            return 1
        verdicts = []
        for mutant, verdict in zip(chosen, threads.map(lambda one: _try(copies, one), chosen), strict=True):
            by = f": {verdict.by}" if verdict.by else ""
            print(f"{verdict.word:11}  {mutant.says} ({mutant.file}){by}", flush=True)
            verdicts.append(verdict.word)
    print(f"{verdicts.count('caught')} of {len(verdicts)} mistakes caught")
    return int(not verdicts or verdicts.count("caught") < len(verdicts))


@contextmanager
def _copies(count: int) -> Iterator["SimpleQueue[Path]"]:
    """Yield so many copies of the checkout, to be taken and put back."""
    queue: SimpleQueue[Path] = SimpleQueue()
    with TemporaryDirectory() as folder:
        for number in range(count):
            copy = Path(folder, str(number))
            for name in COPIED:
                source = ROOT / name
                if source.is_dir():
                    shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy2(source, copy / name)
            queue.put(copy)
        yield queue


def _pass(copies: "SimpleQueue[Path]", tests: tuple[str, ...]) -> bool:
    """Return whether tests pass without a mistake, and print what they say if not."""
    copy = copies.get()
    try:
        ran = _run(copy, tests)
    finally:
        copies.put(copy)
    if ran.returncode:
        print(f"without any mistake {' '.join(tests)} fails:\n{ran.stdout}", flush=True)
    return ran.returncode == 0


def _try(copies: "SimpleQueue[Path]", mutant: Mutant) -> Verdict:
    copy = copies.get()
    file = copy / mutant.file
    text = file.read_text(encoding="utf-8")
    try:
        file.write_text(mutant.mutated(text), encoding="utf-8")
        ran = _run(copy, mutant.tests)
        failed = _FAILED.search(ran.stdout)
        return Verdict("caught", failed[1]) if ran.returncode == 1 and failed else Verdict("SURVIVES")
    except subprocess.TimeoutExpired:
        return Verdict("caught", f"tests that hang for {LONGEST_S} s")
    except ValueError:
        return Verdict("out of date")
    finally:
        file.write_text(text, encoding="utf-8")
        copies.put(copy)


def _run(copy: Path, tests: tuple[str, ...]) -> "subprocess.CompletedProcess[str]":
    """Run tests in a copy; status 1 is a failure. Nothing is cached: two texts may be of one time."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--hypothesis-seed=0", *tests],
        cwd=copy,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )


if __name__ == "__main__":
    sys.exit(main())
