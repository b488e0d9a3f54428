"""Equal settings give equal bytes: another hash seed, locale, time zone, folder, process count or Python."""

import builtins
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.run_bytes import RUNS, SMALL, call

ROOT = Path(__file__).resolve().parents[1]
VERSION = "import sys; print(*sys.version_info[:2])"


def run_bytes(python: str, cwd: Path, **environment: str) -> dict[str, bytes]:
    """What an interpreter makes of the small runs: each file's bytes, by path."""
    folder = cwd / "bytes"
    folder.mkdir(parents=True)
    subprocess.run(
        [python, str(ROOT / "tests" / "run_bytes.py"), str(folder)],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        check=True,
        timeout=300,
    )
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    found = run_bytes(sys.executable, tmp_path_factory.mktemp("usual"), PYTHONHASHSEED="0")
    assert len(found) == 8 * len(RUNS) + 1  # page, summary, scenario and five tables of each; a comparison
    assert min(map(len, found.values())) > 50
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONHASHSEED": "4711"},
        {"LC_ALL": "de_DE.ISO-8859-1", "LANG": "tr_TR.UTF-8", "PYTHONHASHSEED": "1"},
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONHASHSEED": "2"},
        {"TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "3"},
        {"OMP_NUM_THREADS": "7", "COLUMNS": "60", "PYTHONHASHSEED": "4"},
    ],
    ids=lambda environment: next(iter(environment)),
)
def test_the_surroundings_change_no_byte(
    usual: dict[str, bytes], environment: dict[str, str], tmp_path: Path
) -> None:
    assert run_bytes(sys.executable, tmp_path / "else where", **environment) == usual


def others() -> list[str]:
    """Interpreters of other versions that have the packages: of SIM_PYTHONS, or in other .venv* folders."""
    named = os.environ.get("SIM_PYTHONS", "").split(os.pathsep)
    beside = [str(path) for path in sorted(ROOT.glob(".venv*/bin/python"))]
    ours = f"{sys.version_info[0]} {sys.version_info[1]}"
    found = []
    for python in filter(None, [*named, *beside]):
        script = f"import numpy, pandas, pyarrow, simpy, typer; {VERSION}"
        asked = subprocess.run([python, "-c", script], capture_output=True, text=True, check=False)
        if asked.returncode == 0 and asked.stdout.strip() != ours:
            found.append(python)
    return found


@pytest.mark.slow
def test_another_python_changes_no_byte(usual: dict[str, bytes], tmp_path: Path) -> None:
    pythons = others()
    if not pythons:
        pytest.skip("no other Python with the packages: name one in SIM_PYTHONS, or make one in .venv313")
    for number, python in enumerate(pythons):
        assert run_bytes(python, tmp_path / str(number)) == usual


@pytest.mark.slow
def test_the_number_of_processes_changes_no_byte() -> None:
    compared = ("compare", "agg8", "agg4", *SMALL, "--repeat", "2", "--format", "json")
    assert call(*compared, "--jobs", "1") == call(*compared, "--jobs", "3")


@pytest.mark.parametrize("name", ["pair", "aggregated"])
def test_no_result_rests_on_the_builtin_sum_of_floats(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """That rounds otherwise from Python 3.12 on; `sim.base.sums` and `math.fsum` do not."""
    plain = sum
    seen = set()

    def watched(values: Iterable[Any], /, start: Any = 0) -> Any:
        found = list(values)
        caller = sys._getframe(1)
        if plain(isinstance(value, float) for value in found) > 2 and "sim" in caller.f_code.co_filename:
            seen.add(f"{caller.f_code.co_filename}:{caller.f_lineno}")
        return plain(found, start)

    monkeypatch.setattr(builtins, "sum", watched)
    call(*RUNS[name])
    ours = {place for place in seen if Path(place).is_relative_to(ROOT / "sim")}
    assert ours == set()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.slow
def test_what_is_printed_is_utf_8_whatever_the_locale_wants(encoding: str) -> None:
    printed = [
        subprocess.run(
            [sys.executable, "-m", "sim.cli", "run", "cpu-vllm1"],
            cwd=ROOT,
            env=os.environ | {"PYTHONIOENCODING": wanted},
            capture_output=True,
            check=True,
        ).stdout
        for wanted in ("utf-8", encoding)
    ]
    assert printed[0] == printed[1]
    assert "·" in printed[0].decode("utf-8")
