"""The tables of a run, filled row by row, and their way to Parquet and pandas."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.results.tables import TABLES, Column

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_BATCH_ROWS = 1 << 16


class Table:
    """Rows of documented columns, kept in arrays of their type."""

    def __init__(self, name: str, columns: Sequence[Column]) -> None:
        self.name = name
        self.columns = tuple(columns)
        self._names = tuple(column.name for column in columns)
        self._known = frozenset(self._names)
        self._buffer: list[Sequence[Any]] = []
        self._batches: list[pa.RecordBatch] = []

    def __len__(self) -> int:
        return len(self._buffer) + sum(int(batch.num_rows) for batch in self._batches)

    def append(self, values: Sequence[Any]) -> None:
        """Add a row: a value or None for each column, in their order. This is the quick way.

        Raises:
            ValueError: not as many values as columns.

        """
        if len(values) != len(self._names):
            raise ValueError(f"{self.name}: {len(values)} values for {len(self._names)} columns")
        self._buffer.append(values)
        if len(self._buffer) == _BATCH_ROWS:
            self._flush()

    def row(self, **values: Any) -> None:
        """Add a row by name; columns that are not named are null.

        Raises:
            ValueError: a name is not a column.

        """
        if not values.keys() <= self._known:
            unknown = ", ".join(sorted(values.keys() - self._known))
            raise ValueError(f"{self.name} has no column {unknown}; it has {', '.join(self._names)}")
        self.append([values.get(name) for name in self._names])

    def column(self, name: str) -> list[Any]:
        """Return the values of one column, in order of adding, None where nothing was measured."""
        place = self._names.index(name)
        values = [value for batch in self._batches for value in batch.column(place).to_pylist()]
        return values + [row[place] for row in self._buffer]

    def arrow(self) -> "pa.Table":
        """Return an Arrow table; each field's metadata has its `unit` and `description`."""
        import pyarrow as pa  # noqa: PLC0415 - slow to import, and only runs that keep tables need it

        self._flush()
        return pa.Table.from_batches(self._batches, schema=self._schema())

    def frame(self) -> "pd.DataFrame":
        """Return a pandas frame; whole numbers and flags keep their type beside nulls."""
        import pandas as pd  # noqa: PLC0415 - as above
        import pyarrow as pa  # noqa: PLC0415

        nullable = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
        frame: pd.DataFrame = self.arrow().to_pandas(types_mapper=nullable.get)
        return frame

    def _schema(self) -> "pa.Schema":
        import pyarrow as pa  # noqa: PLC0415

        types = {"int": pa.int64(), "float": pa.float64(), "text": pa.string(), "bool": pa.bool_()}
        return pa.schema(
            pa.field(
                column.name,
                types[column.kind],
                metadata={"description": column.about, "unit": column.unit},
            )
            for column in self.columns
        )

    def _flush(self) -> None:
        import pyarrow as pa  # noqa: PLC0415

        if self._buffer:
            schema = self._schema()
            columns = zip(*self._buffer, strict=True)
            arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
            self._batches.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
            self._buffer = []


class Rows:
    """The tables of one run. Rows for a table that is not kept are dropped."""

    def __init__(self, keep: Iterable[str] = TABLES) -> None:
        """Start empty tables of these names."""
        self.tables = {name: Table(name, TABLES[name]) for name in keep}

    def row(self, table: str, **columns: Any) -> None:
        """Add a row by column names, if the table is kept."""
        if table in self.tables:
            self.tables[table].row(**columns)

    def frame(self, table: str) -> "pd.DataFrame":
        """Return one table as a pandas frame."""
        return self.tables[table].frame()

    def write(self, directory: Path) -> list[Path]:
        """Write each table to `<table>.parquet` in a directory, made if need be; return the files."""
        import pyarrow.parquet as pq  # noqa: PLC0415

        directory.mkdir(parents=True, exist_ok=True)
        files = {name: directory / f"{name}.parquet" for name in self.tables}
        for name, file in files.items():
            pq.write_table(self.tables[name].arrow(), file, compression="zstd")
        return list(files.values())
