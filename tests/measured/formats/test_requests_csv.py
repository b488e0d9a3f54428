"""Runs of requests in a CSV file."""

import gzip
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from sim.base.errors import InputError
from sim.measured.formats.requests_csv import read_requests

HEADER = "run,arrival_s,send_s,input_tokens,output_tokens,ttft_ms,e2e_ms,origin"
ROWS = (
    "a,1.5,1.75,900,1,60,60,x",
    "b,0,0,10,4,20,80,x",
    "a,0.5,0.5,1000,128,50,1320,x",
    "a,2.5,2.5,800,8,,,x",
)


def file(tmp_path: Path, *rows: str, header: str = HEADER) -> Path:
    path = tmp_path / "runs.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_runs_are_told_apart_and_sorted_by_arrival(tmp_path: Path) -> None:
    found = read_requests(file(tmp_path, *ROWS))
    assert [run.name for run in found.runs] == ["a", "b"]
    run = found.run("a")
    assert len(run) == 3
    assert run.arrival_s.tolist() == [0.5, 1.5, 2.5]
    assert run.send_s.tolist() == [0.5, 1.75, 2.5]
    assert run.input_tokens.tolist() == [1000, 900, 800]
    assert run.ttft_s[:2].tolist() == [0.05, 0.06]
    assert run.tpot_s[0] == pytest.approx(0.01)
    assert run.rate_per_s == 1.0
    assert found.run("b").rate_per_s == 0.0


def test_without_an_answer_or_a_second_token_there_is_no_time(tmp_path: Path) -> None:
    run = read_requests(file(tmp_path, *ROWS)).run("a")
    assert np.isnan(run.tpot_s).tolist() == [False, True, True]
    assert np.isnan(run.e2e_s).tolist() == [False, False, True]


def test_a_gzipped_file_has_the_fingerprint_of_its_content(tmp_path: Path) -> None:
    plain = file(tmp_path, *ROWS)
    packed = tmp_path / "runs.csv.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert (
        read_requests(packed).sha256 == read_requests(plain).sha256 == sha256(plain.read_bytes()).hexdigest()
    )
    assert len(read_requests(packed).run("a")) == 3


def test_the_first_requests_are_a_run(tmp_path: Path) -> None:
    start = read_requests(file(tmp_path, *ROWS)).run("a").first(2)
    assert (start.name, start.arrival_s.tolist(), start.output_tokens.tolist()) == ("a", [0.5, 1.5], [128, 1])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a,now,0,1,1,1,1,", "line 3: arrival_s = now: must be a number"),
        ("a,,0,1,1,1,1,", "line 3: arrival_s = : must be a number"),
        ("a,inf,0,1,1,1,1,", "line 3: arrival_s = inf: must be a finite number"),
        ("a,0,0,1.5,1,1,1,", "line 3: input_tokens = 1.5: must be a whole number of tokens, 1 to"),
        ("a,0,0,1,0,1,1,", "line 3: output_tokens = 0.*: must be a whole number of tokens, 1 to"),
        ("a,0,0,1e300,1,1,1,", "line 3: input_tokens = 1e.300: must be a whole number of tokens, 1 to"),
        ("a,0,0,1,1,0,1,", "line 3: ttft_ms = 0.*: must be more than 0 ms"),
        ("a,0,0,1,1,2,1,", "line 3: e2e_ms = 1.*: must be at least ttft_ms"),
        ("a,0,0,1,1,2,,", "line 3: e2e_ms = nan: must be a number where ttft_ms has one"),
        (",0,0,1,1,1,1,", "line 3: run = : must be the name of a run"),
    ],
)
def test_a_wrong_value_is_named_with_its_line(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(InputError, match=rf"runs\.csv: {message}"):
        read_requests(file(tmp_path, ROWS[0], row))


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no column send_s, e2e_ms; needed are run, arrival_s, send_s"):
        read_requests(file(tmp_path, header="run,arrival_s,input_tokens,output_tokens,ttft_ms"))
    with pytest.raises(InputError, match="nothing below the header"):
        read_requests(file(tmp_path))
    with pytest.raises(InputError, match=r"nowhere\.csv: cannot be read"):
        read_requests(tmp_path / "nowhere.csv")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"run")[:-4])
    with pytest.raises(InputError, match=r"cut\.gz: cannot be read"):
        read_requests(tmp_path / "cut.gz")
    (tmp_path / "damaged.gz").write_bytes(gzip.compress(b"run")[:10] + b"\xff" * 20)
    with pytest.raises(InputError, match=r"damaged\.gz: cannot be read"):
        read_requests(tmp_path / "damaged.gz")
    with pytest.raises(InputError, match=r"line 2: has more values than the header has columns"):
        read_requests(file(tmp_path, "a,0,0,1,1,1,1,x,y"))
    with pytest.raises(InputError, match="no run 'c'; it has a, b"):
        read_requests(file(tmp_path, *ROWS)).run("c")


def test_equal_arrivals_have_one_fingerprint(tmp_path: Path) -> None:
    times = [0.0, 0.2802, 0.3796, 0.4965]
    later = [time + 7.1234 for time in times]
    other = [*times[:-1], 0.4967]
    rows = [
        f"{name},{time},{time},9,2,1,2,"
        for name, column in (("a", times), ("b", later), ("c", other))
        for time in column
    ]
    a, b, c = (run.arrivals_fingerprint() for run in read_requests(file(tmp_path, *rows)).runs)
    assert a == b != c
