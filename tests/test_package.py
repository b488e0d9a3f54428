"""What `from sim import ...` gives, whenever it is asked for."""

import subprocess
import sys
from types import FunctionType

import pytest

import sim

NAMES = ("compare", "convert", "inspect", "load", "load_trace", "run", "sample", "sweep")


def printed(script: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.parametrize("name", NAMES)
def test_a_function_is_had_by_name(name: str) -> None:
    found = getattr(sim, name)
    assert isinstance(found, FunctionType)
    assert found.__name__ == name
    assert name in dir(sim)
    assert "Args:" in (found.__doc__ or "")


def test_all_is_what_there_is() -> None:
    assert tuple(sim.__all__) == NAMES
    with pytest.raises(AttributeError, match="module 'sim' has no attribute 'sweeep'"):
        sim.sweeep  # noqa: B018


@pytest.mark.parametrize(
    "first",
    [
        "from sim import compare",
        "import sim.simulation.run, sim.experiments.compare, sim.experiments.sweep, sim.experiments.load",
    ],
)
def test_no_module_that_was_imported_before_takes_the_place_of_a_function(first: str) -> None:
    script = f"{first}\nfrom sim import compare, load, run, sweep"
    script += "\nprint(*map(callable, (compare, load, run, sweep)))"
    assert printed(script) == "True True True True"


def test_importing_it_imports_nothing_else() -> None:
    script = "import sys, sim; print([name for name in sys.modules if name.startswith('sim.')])"
    assert printed(script) == "[]"
