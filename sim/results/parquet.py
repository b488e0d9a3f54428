"""Parquet files, written as a whole; half of a surrogate pair, which UTF-8 cannot say, is escaped in them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.base.whole_file import to_utf8, whole_file

if TYPE_CHECKING:
    import pyarrow as pa


def write_parquet(table: "pa.Table", path: Path) -> None:
    """Write a table.

    Raises:
        InputError: no file can be made there.
        NoRoomError: the disk is full; names the file.

    """
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to import

    # Opened here: Arrow takes no path that is not UTF-8.
    with whole_file(path) as built, built.open("wb") as file:
        pq.write_table(table, file, compression="zstd")


def texts_column(texts: Sequence[Any]) -> "pa.Array":
    """Return a column of texts, or None, as UTF-8 can say them."""
    import pyarrow as pa  # noqa: PLC0415

    return pa.array(encodable(texts), pa.string())


def encodable(texts: Sequence[Any]) -> list[Any]:
    """Return texts, or None, as UTF-8 can say them."""
    return [text if text is None else to_utf8(text).decode() for text in texts]
