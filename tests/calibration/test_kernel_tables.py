"""Tables of kernel times are known by their columns, and bad ones are refused with their place."""

import gzip
from pathlib import Path

import pytest

from sim.base.errors import InputError
from sim.calibration.kernel_tables import read_table, read_tables
from tests.calibration.synthetic import GEMM, gemm_rows, write, write_tables


def test_columns_tell_the_kinds_apart(tmp_path: Path) -> None:
    tables = read_tables(write_tables(tmp_path))
    assert list(tables) == ["gemm", "prefill attention", "decode attention", "gdn"]
    assert [len(table.rows) for table in tables.values()] == [2 * 12 * 7, 6 * 10, 6 * 12, 5 * 4 * 8]


def test_a_gzipped_table_is_the_same_table(tmp_path: Path) -> None:
    plain = write(tmp_path / "gemm.csv", GEMM, gemm_rows())
    packed = tmp_path / "gemm.csv.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    first, second = read_table(plain), read_table(packed)
    assert (first.file, first.sha256) == (second.file, second.sha256)
    assert first.rows.equals(second.rows)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"{GEMM}\n0.25.0,linear,fp8,1,2,3,4\n0.25.0,linear,fp8,1,0,3,4\n",
            "line 3: n_out = 0: must be",
        ),
        (
            f"{GEMM}\n0.25.0,linear,fp8,1,2,3,fast\n",
            "line 2: latency_us = fast: must be a finite number above 0",
        ),
        (f"{GEMM}\n0.25.0,linear,fp8,1,2,3,\n", "line 2: latency_us = nan"),
        ("a,b\n1,2\n", "no table of kernel times: the nearest kind"),
        (GEMM.replace("k_in,", "") + "\n", "the nearest kind, gemm, also has k_in"),
        (
            f"{GEMM}\n0.25.0,linear,fp8,1,2,3,inf\n",
            "line 2: latency_us = inf: must be a finite number above 0",
        ),
        (f"{GEMM}\n0.25.0,linear,fp8,1,2,3,4,5\n", "line 2: has more values than the header has columns"),
        (f"{GEMM}\n", "holds no row"),
        ("", "not a CSV table"),
    ],
)
def test_a_bad_table_is_refused_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(InputError, match=rf"bad\.csv.*{message}"):
        read_table(tmp_path / "bad.csv")


def test_two_tables_of_a_kind_and_damaged_files_are_refused(tmp_path: Path) -> None:
    paths = [write(tmp_path / name, GEMM, gemm_rows()) for name in ("a.csv", "b.csv")]
    with pytest.raises(InputError, match=r"b\.csv: is a table of gemm, as a\.csv is; give one"):
        read_tables(paths)
    with pytest.raises(InputError, match=r"none\.csv: No such file"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(paths[0].read_bytes())[:50])
    with pytest.raises(InputError, match=r"cut\.csv\.gz: "):
        read_table(tmp_path / "cut.csv.gz")
