"""All clusters in one table, from runs or from what is stored."""

import csv
import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from sim.base.errors import InputError
from sim.base.shipped import published_names
from sim.cli import app
from sim.published.cells import Point, cells
from sim.published.cluster import PublishedCluster, read_cluster
from sim.published.overview import Standing, render, to_dict
from sim.published.stored import read_stored
from tests.published.example import write_example
from tests.published.test_verdicts import CLUSTER, scored

HEAD = (
    "id,kind,may_be_fitted,workload,place,sessions,unit,low,high,simulated,holds,decides,row_holds,metric,"
    "level,printed,error,scenarios"
)


def write_results(folder: Path, **changed: str) -> None:
    """Store what is printed as what was simulated, but for some rows."""
    cluster = read_cluster(str(folder))
    lines = [HEAD]
    for row in cluster.targets.rows:
        found = changed.get(row.id.replace("-", "_"), f"{row.printed}")
        low, high = row.band
        workload = "" if row.kind == "static" else "generated"
        verdict = "yes" if found and row.band.holds(float(found)) else "no"
        lines.append(
            f"{row.id},{row.kind},{row.may_be_fitted},{workload},{row.configurations[0]},,{row.unit},{low},"
            f"{high},{found},{verdict},yes,{verdict},{row.metric},{row.level or ''},{row.printed},,"
        )
    (folder / "results.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(*arguments: str) -> str:
    """The output of `sim validate published`."""
    result = CliRunner().invoke(app, ["validate", "published", *arguments])
    assert result.exit_code == 0, result.stderr
    return result.stdout


def refused(*arguments: str) -> str:
    """The message of a call that is refused."""
    result = CliRunner().invoke(app, ["validate", "published", *arguments])
    assert result.exit_code == 2
    return result.stderr


def test_what_is_stored_is_read(tmp_path: Path) -> None:
    folder = write_example(tmp_path)
    write_results(folder, kv_ttft_2="5", kv_tail_4="")
    stored = read_stored(read_cluster(str(folder)))
    assert not stored.differing
    assert [row.target.id for row in stored.dynamic if not row.holds] == ["kv-ttft-2", "kv-tail-4"]
    found = json.loads(run(str(folder), "--stored", "--format", "json"))
    (cluster,) = found["clusters"]
    assert cluster["all"] == {"rows": 8, "within": 6, "median_error": 0.0, "median_error_points": 0.0}
    assert cluster["fitted"]["within"] == 0
    assert cluster["predicted"] == {"rows": 7, "within": 6, "median_error": 0.0, "median_error_points": 0.0}
    assert (cluster["ab_signs"], cluster["ab_signs_right"]) == (3, 2)
    text = run(str(folder), "--stored")
    assert "ITL p99.9, KV router at 4 sessions in flight: measured 30.0 ms ± 10 %, no number " in text
    assert "sign of TTFT p50, KV router against round robin at 2 sessions in flight" in " ".join(text.split())


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("targets", "rr,2,4,0.2", "rr,2,4,0.3", "rr-ttft-2 at rr@2: is stored with low = 3.2, it has 2.8"),
        ("targets", "rr,2,4,0.2", "rr,3,4,0.2", "rr-ttft-2 at rr@3: nothing is stored of it"),
        (
            "targets",
            "kv,2,3,0.2,yes",
            "kv,2,3,0.2,no",
            "kv-ttft-2 at kv@2: is stored with may_be_fitted",
        ),
        ("targets", "rr-ttft-2", "rr-ttft", "rr-ttft at rr@2: nothing is stored of it"),
    ],
)
def test_what_is_stored_of_other_rows_is_refused(
    tmp_path: Path, file: str, old: str, new: str, says: str
) -> None:
    folder = write_example(tmp_path)
    write_results(folder)
    path = folder / f"{file}.csv"
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    assert says in refused(str(folder), "--stored")


def test_what_is_stored_of_other_variants_differs(tmp_path: Path) -> None:
    folder = write_example(tmp_path)
    write_results(folder)
    cluster = read_cluster(str(folder))
    path = folder / "results.csv"
    keys = {
        row.id: cluster.scenarios_key([point])
        for row in cluster.dynamic_rows()
        for point in [_point(cluster, row.id)]
    }
    lines = path.read_text(encoding="utf-8").splitlines()
    kept = [line + keys.get(line.partition(",")[0], "") for line in lines]
    path.write_text("\n".join(kept) + "\n", encoding="utf-8")
    assert not read_stored(cluster).differing
    study = folder / "study.toml"
    text = study.read_text(encoding="utf-8").replace("router.policy=kv", "router.policy=random")
    study.write_text(text, encoding="utf-8")
    differing = read_stored(read_cluster(str(folder))).differing
    assert [text.partition(":")[0] for text in differing] == [
        f"{name} at {place}"
        for name, place in (
            ("kv-ttft-2", "kv@2"),
            ("kv-ttft-4", "kv@4"),
            ("kv-hits-4", "kv@4"),
            ("kv-tail-4", "kv@4"),
        )
    ]


def _point(cluster: PublishedCluster, name: str) -> Point:
    (row,) = (row for row in cluster.targets.rows if row.id == name)
    (cell,) = cells(row)
    return cell.points[0]


def test_a_cluster_without_stored_results_says_so(tmp_path: Path) -> None:
    folder = write_example(tmp_path)
    with pytest.raises(InputError, match="no results are stored"):
        read_stored(read_cluster(str(folder)))


def test_options_of_one_cluster_need_one() -> None:
    for option in (("--baselines",), ("--sensitivity",), ("--trace", "a=b"), ("--targets", "x.csv")):
        assert f"{option[0]}: is of the runs of one cluster" in refused("--all", *option)
    assert "--all: is of all clusters; leave out talk" in refused("talk", "--all")


def test_the_list_names_what_is_shipped() -> None:
    found = json.loads(run("--format", "json"))
    assert [one["name"] for one in found["clusters"]] == published_names()
    shown = run()
    assert all(name in shown for name in published_names())


def test_the_stored_table_has_every_shipped_cluster() -> None:
    found = json.loads(run("--all", "--stored", "--format", "json"))
    assert [one["name"] for one in found["clusters"]] == published_names()


def test_several_clusters_are_added_up() -> None:
    standings = [
        Standing(CLUSTER, (), tuple(scored())),
        Standing(CLUSTER, (), tuple(scored(kv_ttft_2=5.0))),
    ]
    first, second = to_dict(standings)["clusters"]
    assert (first["all"]["within"], second["all"]["within"]) == (7, 6)
    shown = StringIO()
    Console(width=100, file=shown).print(render(standings))
    assert "all 14 13 1 of 2 12 of 12 0.0 %, 0.0 points 5 of 6" in " ".join(shown.getvalue().split())


@pytest.mark.slow
def test_the_example_is_validated(tmp_path: Path) -> None:
    folder = write_example(tmp_path / "example")
    out = tmp_path / "out"
    text = run(str(folder), "--jobs", "1", "--out", str(out))
    assert "rows within tolerance" in text
    assert "A/B signs right" in text
    with (out / "results.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [line["id"] for line in lines] == [row.id for row in read_cluster(str(folder)).targets.rows]
    assert all(line["scenarios"] for line in lines if line["kind"] == "dynamic")
    (folder / "results.csv").write_bytes((out / "results.csv").read_bytes())
    assert not read_stored(read_cluster(str(folder))).differing
