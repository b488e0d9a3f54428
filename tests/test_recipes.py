"""CONTRIBUTING's pages about what one may add: each says all that it takes, and nothing too much."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.recipes import Step, commands, copied, steps

TOUCHED = {
    "A routing policy": ["sim/router/policies/most_overlap.py"],
    "A trace format": ["sim/workload/formats/mine.py"],
    "An eviction policy": ["sim/kv/offload.py"],
    "A tier": ["sim/cluster/tiers.py", "sim/scenario/sections.py"],
    "A step law": ["sim/hardware/flat_law.py", "sim/hardware/step_laws.py"],
    "A model, a GPU, a scenario": [],
}
"""Files of `sim` that each page touches; the page about a published cluster is tried in tests/published."""
EVERY_STEP = [(title, left_out) for title in TOUCHED for left_out in steps(title)]


def failed(title: str, followed: list[Step], root: Path) -> list[str]:
    """Return the commands of a page that fail in a copy of the sources, with what they said."""
    copied(root, followed)
    environment = os.environ | {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    found = []
    for command in commands(title):
        program, *arguments = shlex.split(command)
        module = ["-m", "sim.cli"] if program == "sim" else []
        quiet = ["-p", "no:cacheprovider"] if "pytest" in arguments else []
        done = subprocess.run(
            [sys.executable, *module, *arguments, *quiet],
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            found.append(f"{command}\n{done.stdout}{done.stderr}")
    return found


@pytest.mark.parametrize("title", TOUCHED)
def test_a_page_says_which_files_it_touches_and_how_to_see_that_it_works(title: str) -> None:
    paths = {step.path for step in steps(title)}
    assert sorted(path for path in paths if path.startswith("sim/")) == TOUCHED[title]
    *shown, contract = commands(title)
    assert shown
    assert all(command.startswith("sim ") for command in shown)
    assert contract.startswith("python -m pytest tests/")


@pytest.mark.slow
@pytest.mark.parametrize("title", TOUCHED)
def test_a_page_that_is_followed_to_the_letter_works(title: str, tmp_path: Path) -> None:
    assert failed(title, steps(title), tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize(("title", "left_out"), EVERY_STEP)
def test_a_page_without_one_of_its_steps_does_not(title: str, left_out: Step, tmp_path: Path) -> None:
    assert failed(title, [step for step in steps(title) if step != left_out], tmp_path)
