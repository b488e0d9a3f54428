import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest

from sim.base.errors import InputError
from sim.ledger.account import CAUSES, COLUMNS, Account
from sim.results import rows
from sim.results.rows import Rows, Table
from sim.results.tables import DECISIONS, REQUESTS, TABLES, Column
from sim.router.cost import CostTerms

COLUMNS_OF_ALL_KINDS = (
    Column("name", "text", "", "Who"),
    Column("worker", "int", "", "Where"),
    Column("end_s", "float", "s", "When"),
    Column("chosen", "bool", "", "Whether"),
)


@pytest.fixture(params=[1, 2, 1 << 16])
def table(request, monkeypatch):
    """A table of two rows, of whatever batch size."""
    monkeypatch.setattr(rows, "_BATCH_ROWS", request.param)
    table = Table("some", COLUMNS_OF_ALL_KINDS)
    table.append(("a", 3, 1.5, True))
    table.row(name="b", chosen=False)
    return table


def test_columns_come_out_as_they_went_in_and_nothing_is_null_not_zero(table):
    assert len(table) == 2
    assert table.column("name") == ["a", "b"]
    assert table.column("worker") == [3, None]
    assert table.column("end_s") == [1.5, None]


def test_a_frame_keeps_the_types_of_columns_with_nulls(table):
    frame = table.frame()

    assert {name: str(kind) for name, kind in frame.dtypes.items() if name != "name"} == {
        "worker": "Int64",
        "end_s": "float64",
        "chosen": "boolean",
    }
    assert frame["worker"].isna().tolist() == [False, True]
    assert frame["end_s"].isna().tolist() == [False, True]


def test_rows_added_after_a_frame_was_taken_are_kept(table):
    table.frame()
    table.row(name="c")

    assert table.frame()["name"].tolist() == ["a", "b", "c"]


def test_an_unknown_column_is_refused_by_name(table):
    with pytest.raises(ValueError, match="some has no column wroker; it has name, worker, end_s, chosen"):
        table.row(wroker=3)


def test_a_row_of_the_wrong_length_is_refused(table):
    with pytest.raises(ValueError, match="some: 3 values for 4 columns"):
        table.append(("a", 3, 1.5))


def test_columns_are_had_as_arrays_with_what_was_measured(table):
    workers, measured = table.values("worker")

    assert (workers.tolist(), measured.tolist()) == ([3, 0], [True, False])
    assert (workers.dtype, table.values("end_s").values.dtype) == (np.int64, np.float64)
    assert table.values("name").values.tolist() == ["a", "b"]
    assert table.column("chosen") == [True, False]


def test_a_table_without_rows_has_columns_without_values():
    values, measured = Table("some", COLUMNS_OF_ALL_KINDS).values("worker")

    assert (values.size, measured.size, values.dtype) == (0, 0, np.int64)


def test_a_fraction_in_a_column_of_whole_numbers_is_refused():
    table = Table("some", COLUMNS_OF_ALL_KINDS)
    table.row(worker=1.5)

    with pytest.raises(TypeError, match="Cannot cast"):
        table.column("worker")


def test_parquet_carries_values_units_and_descriptions(tmp_path):
    kept = Rows(["requests", "workers"])
    kept.row("requests", index=0, session="s", ttft_s=0.25)
    kept.row("decisions", request=0)
    files = kept.write(tmp_path / "new" / "run")

    assert [file.name for file in files] == ["requests.parquet", "workers.parquet"]
    written = pq.read_table(files[0])
    assert written.num_rows == 1
    assert written.column("ttft_s").to_pylist() == [0.25]
    assert written.column("end_s").to_pylist() == [None]
    metadata = written.schema.field("ttft_s").metadata
    assert metadata == {b"unit": b"s", b"description": b"Duration: sent to first token"}


def test_a_table_without_rows_is_written_with_its_columns(tmp_path):
    Rows().write(tmp_path)

    for name, columns in TABLES.items():
        written = pq.read_table(tmp_path / f"{name}.parquet")
        assert written.num_rows == 0
        assert written.column_names == [column.name for column in columns]


def test_tables_come_back_as_they_were_written(tmp_path):
    rows = Rows()
    rows.tables["requests"].row(index=1, session="a", end_s=2.0)
    rows.tables["requests"].row(index=2)
    rows.write(tmp_path)
    again = Rows.read(tmp_path)

    assert list(again.tables) == list(TABLES)
    for name in TABLES:
        assert again.frame(name).equals(rows.frame(name))
    again.row("requests", index=3)
    assert again.tables["requests"].column("index") == [1, 2, 3]
    assert again.tables["requests"].column("end_s") == [2.0, None, None]


def test_a_folder_without_a_table_that_every_run_has_is_refused(tmp_path):
    for file in Rows().write(tmp_path):
        if file.stem in {"itl", "requests", "workers"}:
            file.unlink()
    with pytest.raises(InputError, match=r"has no requests\.parquet, itl\.parquet; `sim run --out`"):
        Rows.read(tmp_path)


def test_a_file_that_is_no_table_of_a_run_is_named(tmp_path):
    Rows().write(tmp_path)
    (tmp_path / "links.parquet").write_text("no")
    with pytest.raises(InputError, match=r"links\.parquet: not a Parquet file that can be read"):
        Rows.read(tmp_path)
    pq.write_table(Rows().tables["itl"].arrow().drop_columns("n"), tmp_path / "links.parquet")
    with pytest.raises(InputError, match=r"columns gap_s \(double\); this version reads kind"):
        Rows.read(tmp_path)


def test_the_decisions_table_is_a_decision_and_every_cost_term():
    names = [column.name for column in DECISIONS]

    assert CostTerms._fields[0] == "rank"
    assert names == ["request", "leg", "now_s", "chosen", "worker", *CostTerms._fields[1:]]


def test_an_account_fills_its_columns():
    columns = Account(required_tokens=5, required_block_tokens=6).columns()

    names = [column.name for column in REQUESTS]
    first = names.index(COLUMNS[0])
    assert names[first : first + len(COLUMNS)] == [*COLUMNS] == [*columns]
    assert columns["required_block_tokens"] == 6
    assert {f"{cause}_tokens" for cause in CAUSES} <= columns.keys()


@pytest.mark.parametrize("name", TABLES)
def test_every_column_is_documented_and_named_by_its_unit(name):
    names = [column.name for column in TABLES[name]]

    assert len(names) == len(set(names))
    for column in TABLES[name]:
        assert column.about
        endings = {"s": "_s", "tokens": "_tokens"}
        if column.unit in endings:
            assert column.name.endswith(endings[column.unit])


def test_importing_the_tables_imports_neither_pandas_nor_pyarrow():
    code = (
        "import sys, sim.results.rows, sim.show.text.summary; print({'pandas', 'pyarrow'} & {*sys.modules})"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert loaded.stdout.strip() == "set()"
