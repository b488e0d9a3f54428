"""A published cluster is a folder: what CONTRIBUTING says is all that it takes."""

import csv
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sim.base.shipped import published_names, scenario_names
from sim.cli import app
from tests.published.recipe import COMMANDS, FILES, write_cluster


def test_the_page_has_every_file() -> None:
    assert [*FILES] == ["study.toml", "targets.csv", "scenarios/two-workers.toml", "assumptions.csv"]
    assert len(COMMANDS) == 2


@pytest.mark.slow
def test_the_folder_of_the_page_is_validated(tmp_path: Path) -> None:
    folder, out = write_cluster(tmp_path / "post"), tmp_path / "out"
    for command in COMMANDS:
        words = command.replace("FOLDER", str(folder)).split()
        result = CliRunner().invoke(app, [*words, "--seeds", "1", "--jobs", "1", "--out", str(out)])
        assert result.exit_code == 0, result.stderr
    with (out / "results.csv").open(encoding="utf-8") as file:
        places = [(line["id"], line["place"], line["sessions"]) for line in csv.DictReader(file)]
    assert places == [
        ("pool", "", ""),
        ("ttft", "two-workers", "2"),
        ("ttft", "two-workers", "4"),
        ("locality", "two-workers", "4"),
    ]
    with (out / "sensitivity.csv").open(encoding="utf-8") as file:
        variants = list(dict.fromkeys(line["variant"] for line in csv.DictReader(file)))
    assert variants == ["as assumed", "trace window first"]


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("study", "session_step", "session_steps", "study.toml: session_steps: unknown key"),
        ("study", '"the post"', '"the post', "study.toml: not a TOML file: "),
        (
            "study",
            "session_step = 2",
            "session_step = 0",
            "study.toml: session_step = 0: must be ",
        ),
        (
            "study",
            '"pool_blocks"',
            '"blocks"',
            "memory.metrics.blocks = 'blocks': must be 'weights', ",
        ),
        (
            "study",
            '"two-workers"',
            '"two"',
            "toml: static.memory.configuration: no scenario is called",
        ),
        ("targets", "pool,static,blocks", "pool,static,block", "pool: metric = block: [static] of "),
        (
            "targets",
            "s,two-workers,",
            "s,two-worker,",
            "line 3: configurations = two-worker: no scenario",
        ),
        ("targets", "1600,1700", "1700,1600", "targets.csv: line 2: low = 1700 is above high = 1600"),
        ("two-workers", "count = 2", "count = 0", "two-workers.toml, line 10: workers.count = 0: must be "),
        ("assumptions", "workload.window", "workload.windows", "line 2: --set workload.windows"),
        (
            "assumptions",
            "workload.window",
            "work.window",
            "line 2: key = work.window: no section of ",
        ),
        ("assumptions", "first", "last", "assumptions.csv: line 2: --set workload.window=last: "),
        ("assumptions", ",first", ",", "assumptions.csv: line 2: values = : a choice needs some"),
        ("assumptions", "choice,,first", "number,s,first", "line 2: values = first: must be numbers"),
        (
            "assumptions",
            "choice,,first",
            "number,,1",
            "key = workload.window: is no number but 'middle'",
        ),
        ("assumptions", "choice,,first", "number,ss,1", "line 2: unit = ss: is none; did you mean "),
        (
            "assumptions",
            "workload.window,choice,,first",
            "timing.a,coefficient,,",
            "key = timing.a: no coeff",
        ),
    ],
)
def test_what_is_wrong_in_a_folder_is_said(tmp_path: Path, file: str, old: str, new: str, says: str) -> None:
    folder = write_cluster(tmp_path, **{file: (old, new)})
    result = CliRunner().invoke(app, ["validate", "published", str(folder)])
    assert result.exit_code == 2
    assert says in result.stderr
    assert str(tmp_path) in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("added", "says"),
    [
        ('[[baseline]]\nname = "x"\nsettings = ["timing.preset=roof"]', "study.toml: baseline.0 (x): "),
        (
            '[[baseline]]\nname = "x"\nsettings = ["a=1"]\ntimeless = true',
            "settings: a timeless baseline takes",
        ),
        (
            '[fit]\nrows = "rows"\ncoefficients = ["a_pairs_s"]',
            "fit.coefficients = ['a_pairs_s']: a_pairs_s is",
        ),
        ('[fit]\nrows = "rows"\ncoefficients = []', "study.toml: fit.coefficients"),
        (
            '[static.sessions]\nprofile = "tal"',
            "static.sessions.profile = 'tal': must be 'talk'",
        ),
    ],
)
def test_what_is_wrong_in_other_tables_is_said(tmp_path: Path, added: str, says: str) -> None:
    folder = write_cluster(tmp_path)
    with (folder / "study.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n{added}\n")
    result = CliRunner().invoke(app, ["validate", "published", str(folder)])
    assert result.exit_code == 2
    assert says in result.stderr


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    for name, says in (
        ("tlak", "no published cluster is called 'tlak'; did you mean 'talk'?"),
        (str(tmp_path / "none"), "no folder is called"),
        (str(tmp_path), "study.toml: No such file"),
    ):
        result = CliRunner().invoke(app, ["validate", "published", name])
        assert result.exit_code == 2
        assert says in result.stderr


def test_a_cluster_without_what_an_option_needs_says_so(tmp_path: Path) -> None:
    folder = write_cluster(tmp_path)
    fitting = ["calibrate", "published", str(folder), "--out", str(tmp_path / "fit.toml")]
    assert "study.toml: has no table [fit] with rows and coefficients" in _stderr(fitting)
    with (folder / "study.toml").open("a", encoding="utf-8") as file:
        file.write('\n[fit]\nrows = "rows"\ncoefficients = ["a_pair_s"]\n')
    assert "targets.csv: no dynamic row has may_be_fitted = yes" in _stderr(fitting)
    head, static, *_ = FILES["targets.csv"].splitlines()
    (folder / "targets.csv").write_text(f"{head}\n{static}\n", encoding="utf-8")
    for option in ("--baselines", "--sensitivity"):
        assert "has no dynamic row" in _stderr(["validate", "published", str(folder), option])
    only_static = CliRunner().invoke(app, ["validate", "published", str(folder)])
    assert only_static.exit_code == 0, only_static.stderr
    assert "1 of 1 static rows hold" in only_static.stdout


def _stderr(arguments: list[str]) -> str:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    return result.stderr


def test_a_shipped_name_alone_means_nothing_else() -> None:
    assert "talk" in published_names()
    others = {*scenario_names(), "published", "requests", "kernels"}
    assert not others & {*published_names()}
