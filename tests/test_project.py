"""The project keeps its own promises: what is installed, how it is built, how the rooms depend."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import house
from tests.recipes import steps

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]

PURE = (
    "kv",
    "router",
    "engine",
    "ledger",
    "hardware/step_time.py",
    "hardware/mocker_law.py",
    "hardware/capacity.py",
    "simulation/startup.py",
    "scenario/faults.py",
)
IMPURE_IMPORTS = {"simpy", "time", "datetime", "random", "pathlib", "os", "io", "tomllib", "json"}


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def fenced(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def test_every_package_that_is_imported_is_a_dependency() -> None:
    extras = PROJECT["optional-dependencies"]
    requirements = [*PROJECT["dependencies"], *extras["aic"], *extras["dask"], *extras["tune"]]
    # A name with a hyphen is imported with an underscore; PyYAML has another one.
    declared = {re.split(r"[^\w-]", requirement)[0].replace("-", "_") for requirement in requirements}
    declared = declared - {"pyyaml"} | {"yaml"}
    used = {name.partition(".")[0] for path in (ROOT / "sim").rglob("*.py") for name in imports(path)}
    third_party = used - set(sys.stdlib_module_names) - {"sim", "pydantic_core"}
    assert third_party == declared


@pytest.mark.parametrize("place", PURE)
def test_pure_rooms_know_no_clock_no_process_and_no_file(place: str) -> None:
    path = ROOT / "sim" / place
    files = [path] if path.is_file() else sorted(path.glob("*.py"))
    assert files
    for file in files:
        assert not IMPURE_IMPORTS & {name.partition(".")[0] for name in imports(file)}, file


# The house


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return house.sources()


def test_every_room_stands_in_the_table(texts: dict[str, str]) -> None:
    assert sorted(house.rooms()) == sorted({house.room(module) for module in texts})


def test_imports_run_down_the_table(texts: dict[str, str]) -> None:
    assert house.upward(house.imports(texts), house.rooms()) == []


def test_no_modules_import_each_other_in_a_circle(texts: dict[str, str]) -> None:
    assert house.circle(house.imports(texts)) == []


@pytest.mark.parametrize("hidden", ["", "def late():\n    ", "if TYPE_CHECKING:\n    "])
def test_an_import_that_runs_up_or_closes_a_circle_is_found_wherever_it_stands(
    texts: dict[str, str], hidden: str
) -> None:
    up = texts | {"sim.kv.one": f"{hidden}from sim.router.cost import CostTerms"}
    assert house.upward(house.imports(up), house.rooms()) == ["sim.kv.one imports sim.router.cost"]
    around = {"sim.kv.one": f"{hidden}from sim.kv.two import Two", "sim.kv.two": "from sim.kv import one"}
    assert {*house.circle(house.imports(texts | around))} == {"sim.kv.one", "sim.kv.two"}


# The build


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize(
    ("target", "command"),
    [
        ("run", "sim run scenarios/agg8.toml"),
        ("test", 'python -m pytest -n 2 -m "not slow"'),
        ("test-slow", "python -m pytest -n 2 -m slow"),
        ("lint", "mypy"),
        ("fast", "sim --version"),
        ("notebooks", "python -m tests.notebooks"),
        ("tables", "python notebooks/tables.py"),
        ("docs", "python -m mkdocs build --strict --quiet"),
    ],
)
def test_the_makefile_ends_with_what_the_readme_says(target: str, command: str) -> None:
    # A test may itself run under make, whose flags are not meant for this one.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    plan = subprocess.run(
        ["make", "-n", target], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert plan.stdout.splitlines()[-1] == f".venv/bin/{command}"


def test_the_modules_that_a_compiled_build_takes_are_here() -> None:
    hook = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]
    assert hook["enable-by-default"] is False
    for pattern in hook["modules"]:
        assert list(ROOT.glob(pattern)), pattern


def test_no_compiled_module_hides_a_source_of_the_checkout() -> None:
    assert not [file for kind in ("*.so", "*.pyd") for file in (ROOT / "sim").rglob(kind)]


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize("name", ["run", "compiled", "published"])
def test_the_ci_scripts_are_scripts(name: str) -> None:
    subprocess.run(["bash", "-n", ROOT / ".ci" / name], check=True)


# CONTRIBUTING.md

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
WRITTEN = {step.path for page in re.findall(r"^## (.+)$", CONTRIBUTING, re.MULTILINE) for step in steps(page)}
"""Files that its pages have one write."""
PLACE = re.compile(r"(?:sim|tests|scenarios|calibration|docs|notebooks|\.ci)/[\w./-]+")


def test_every_path_in_contributing_is_here_or_is_written_by_its_page() -> None:
    quoted = re.findall(r"`([^`\n]+)`", CONTRIBUTING)
    named = {place for words in quoted for place in PLACE.findall(words)}
    named |= {place for line in fenced(CONTRIBUTING, "sh") for place in PLACE.findall(line)}
    assert len(named) > 30
    assert [place for place in sorted(named - WRITTEN) if not (ROOT / place).exists()] == []


def test_every_room_in_contributing_has_what_the_table_names() -> None:
    for room, cell in re.findall(r"^\| \d+ \| `(\w+)/` \| (.*) \|$", CONTRIBUTING, re.MULTILINE):
        for word in re.findall(r"`([\w/]+)`", cell):
            names = (word.rstrip("/"), f"{word.rstrip('/')}.py")
            inside = [path for name in names for path in (ROOT / "sim" / room).rglob(name)]
            assert inside or (ROOT / word).exists(), f"{room}: {word}"


def test_lines_of_contributing_fit() -> None:
    lines = [line for line in CONTRIBUTING.splitlines() if not line.startswith("|")]
    assert [line for line in lines if len(line) > 120] == []
