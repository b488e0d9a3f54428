"""The tables of a run, filled row by row, and their way to Parquet and pandas."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.base.errors import InputError
from sim.base.words import exactly
from sim.results.parquet import encodable, write_parquet
from sim.results.tables import ALWAYS_KEPT, LATER, SOMETIMES, TABLES, Column, Kind

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_BATCH_ROWS = 1 << 13
_NOTHING: dict[Kind, Any] = {"int": 0, "float": 0.0, "text": "", "bool": False}
_TYPES: dict[Kind, Any] = {"int": np.int64, "float": np.float64, "text": np.object_, "bool": np.bool_}


class Values(NamedTuple):
    """Values of one column, in order of adding."""

    values: NDArray[Any]
    """64-bit numbers, flags or strings; where there is none, 0, False or ""."""
    measured: NDArray[np.bool_]
    """Where there is one."""


class Table:
    """Rows of documented columns, kept in arrays of their type."""

    def __init__(self, name: str, columns: Sequence[Column]) -> None:
        self.name = name
        self._set_columns(tuple(columns))
        self._buffer: list[Sequence[Any]] = []
        self._batches: list[list[Values]] = []
        self._batched_rows = 0

    def _set_columns(self, columns: tuple[Column, ...]) -> None:
        self.columns = columns
        self._names = tuple(column.name for column in columns)
        self._known = frozenset(self._names)

    @classmethod
    def read(cls, file: Path, columns: Sequence[Column]) -> "Table":
        """Return the table that a Parquet file holds.

        Raises:
            InputError: the file cannot be read, or has other columns.

        """
        import pyarrow as pa  # noqa: PLC0415 - slow to import
        import pyarrow.parquet as pq  # noqa: PLC0415

        try:
            with file.open("rb") as opened:  # Arrow takes no path that is not UTF-8
                content = pq.read_table(opened)
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{file}: not a Parquet file that can be read: {error}") from error
        sometimes = SOMETIMES.get(file.stem, ())
        columns = (*columns, *(column for column in sometimes if column.name in content.column_names))
        table = cls(file.stem, columns)
        schema, own = table._schema(), content.schema
        for place, name in enumerate(table._names):
            if name in LATER and name not in content.column_names:
                nulls = pa.nulls(len(content), schema.field(name).type)
                content = content.add_column(min(place, content.num_columns), schema.field(name), nulls)
        if not content.schema.equals(schema):
            wanted = ", ".join(f"{field.name} ({field.type})" for field in schema)
            found = ", ".join(f"{field.name} ({field.type})" for field in own)
            raise InputError(f"{file}: has columns {found}; this version reads {wanted}")
        if len(content):
            table._batches = [[_from_arrow(content[column.name], column.kind) for column in columns]]
            table._batched_rows = len(content)
        return table

    def __len__(self) -> int:
        return len(self._buffer) + self._batched_rows

    def append(self, values: Sequence[Any]) -> None:
        """Add a row: a value or None for each column, in their order. This is the quick way.

        Raises:
            ValueError: not as many values as columns.

        """
        if len(values) != len(self._names):
            raise ValueError(f"{self.name}: {len(values)} values for {exactly(len(self._names), 'column')}")
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

    def has(self, name: str) -> bool:
        """Whether there is such a column."""
        return name in self._known

    def add_column(self, column: Column, values: Sequence[Any]) -> None:
        """Add a last column, with a value or None for each row that there is.

        Raises:
            ValueError: not as many values as rows.

        """
        if len(values) != len(self):
            raise ValueError(f"{self.name}: {len(values)} values for {exactly(len(self), 'row')}")
        self._flush()
        start = 0
        for batch in self._batches:
            stop = start + len(batch[0].values)
            batch.append(_values(values[start:stop], column.kind))
            start = stop
        self._set_columns((*self.columns, column))

    def where(self, chosen: NDArray[np.bool_]) -> "Table":
        """Return a table of the rows that are chosen."""
        found = Table(self.name, self.columns)
        columns = [self.values(name) for name in self._names]
        found._batches = [[Values(values[chosen], measured[chosen]) for values, measured in columns]]
        found._batched_rows = int(chosen.sum())
        return found

    def column(self, name: str) -> list[Any]:
        """Return the values of one column, in order of adding, None where nothing was measured."""
        values, measured = self.values(name)
        found: list[Any] = values.tolist()
        for row in np.flatnonzero(~measured).tolist():
            found[row] = None
        return found

    def values(self, name: str) -> Values:
        """Return one column as arrays."""
        self._flush()
        place = self._names.index(name)
        if not self._batches:
            return _values((), self.columns[place].kind)
        values, measured = zip(*(batch[place] for batch in self._batches), strict=True)
        return Values(np.concatenate(values), np.concatenate(measured))

    def sort(self, *names: str) -> None:
        """Put the rows in ascending order of these columns, the first one first; equal ones keep theirs."""
        keys = [self.values(name).values for name in reversed(names)]
        if self._batches:
            order = np.lexsort(keys)
            columns = [self.values(name) for name in self._names]
            self._batches = [[Values(values[order], measured[order]) for values, measured in columns]]

    def arrow(self) -> "pa.Table":
        """Return an Arrow table; each field's metadata has its `unit` and `description`."""
        import pyarrow as pa  # noqa: PLC0415 - slow to import, and only runs that keep tables need it

        self._flush()
        schema = self._schema()
        batches = [
            pa.RecordBatch.from_arrays(
                [_to_arrow(column, field.type) for column, field in zip(batch, schema, strict=True)],
                schema=schema,
            )
            for batch in self._batches
        ]
        return pa.Table.from_batches(batches, schema=schema)

    def frame(self) -> "pd.DataFrame":
        """Return a pandas frame; whole numbers and flags keep their type beside nulls.

        Its `attrs["units"]` has the unit of every column that has one.
        """
        import pandas as pd  # noqa: PLC0415 - as above
        import pyarrow as pa  # noqa: PLC0415

        nullable = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
        frame: pd.DataFrame = self.arrow().to_pandas(types_mapper=nullable.get)
        frame.attrs["units"] = {column.name: column.unit for column in self.columns if column.unit}
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
        if self._buffer:
            columns = zip(zip(*self._buffer, strict=True), self.columns, strict=True)
            self._batches.append([_values(values, column.kind) for values, column in columns])
            self._batched_rows += len(self._buffer)
            self._buffer = []


def _values(values: Sequence[Any], kind: Kind) -> Values:
    measured = np.ones(len(values), dtype=np.bool_)
    if None in values:
        measured = np.array([value is not None for value in values])
        values = [_NOTHING[kind] if value is None else value for value in values]
    if kind == "text" or not values:
        return Values(np.array(values, dtype=_TYPES[kind]), measured)
    return Values(np.array(values).astype(_TYPES[kind], casting="safe", copy=False), measured)


def _to_arrow(column: Values, type: "pa.DataType") -> "pa.Array":
    import pyarrow as pa  # noqa: PLC0415

    values, measured = column
    try:
        return pa.array(values, type, mask=~measured)
    except UnicodeEncodeError:
        return pa.array(encodable(values.tolist()), type, mask=~measured)


def _from_arrow(column: "pa.ChunkedArray", kind: Kind) -> Values:
    measured = column.is_valid().to_numpy()
    values = column.fill_null(_NOTHING[kind]).to_numpy()
    return Values(np.array(values, dtype=_TYPES[kind]), measured)


class Rows:
    """The tables of one run. Rows for a table that is not kept are dropped."""

    def __init__(self, keep: Iterable[str] = TABLES) -> None:
        """Start empty tables of these names."""
        self.tables = {name: Table(name, TABLES[name]) for name in keep}

    @classmethod
    def read(cls, directory: Path) -> "Rows":
        """Return the tables that `write` left in a directory.

        Raises:
            InputError: one that every run has is missing, or a file is not what `write` makes; names it.

        """
        files = {name: directory / f"{name}.parquet" for name in TABLES}
        rows = cls(keep=())
        rows.tables = {name: Table.read(file, TABLES[name]) for name, file in files.items() if file.is_file()}
        missing = [f"{name}.parquet" for name in ALWAYS_KEPT if name not in rows.tables]
        if missing:
            raise InputError(f"{directory}: has no {', '.join(missing)}; `sim run --out` writes it")
        return rows

    def row(self, table: str, **columns: Any) -> None:
        """Add a row by column names, if the table is kept."""
        if table in self.tables:
            self.tables[table].row(**columns)

    def frame(self, table: str) -> "pd.DataFrame":
        """Return one table as a pandas frame."""
        return self.tables[table].frame()

    def write(self, directory: Path) -> list[Path]:
        """Write each table to `<table>.parquet` in a directory, made if need be; return the files."""
        directory.mkdir(parents=True, exist_ok=True)
        files = {name: directory / f"{name}.parquet" for name in self.tables}
        for name, file in files.items():
            write_parquet(self.tables[name].arrow(), file)
        return list(files.values())
