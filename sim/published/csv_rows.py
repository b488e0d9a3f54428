"""CSV files of a published cluster: each row is a `Settings`, its columns are the fields."""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BeforeValidator, ValidationError

from sim.base import reading
from sim.base.errors import InputError
from sim.base.messages import first_problem
from sim.base.settings import Settings
from sim.base.words import exactly

SettingsT = TypeVar("SettingsT", bound=Settings)


def empty_is_none(value: object) -> object:
    """Return None for an empty cell."""
    return None if value == "" else value


def _words(value: object) -> object:
    return tuple(value.split()) if isinstance(value, str) else value


Words = Annotated[tuple[str, ...], BeforeValidator(_words)]
"""Words of a cell, between blanks."""


def read_rows(
    path: Path, row_type: type[SettingsT], given: Mapping[str, object] | None = None
) -> Iterator[tuple[str, SettingsT]]:
    """Yield the rows of a file, each with where it stands, for messages.

    Args:
        path: the file.
        row_type: what a row is.
        given: values of columns that the file may leave out.

    Raises:
        InputError: the file cannot be read, or a row is wrong; names line, column, value and what is allowed.

    """
    try:
        lines = reading.text(path).splitlines()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a CSV file in UTF-8: {error}") from error
    reader = csv.DictReader(lines, restkey="")
    try:
        for record in reader:
            where = f"{path}: line {reader.line_num}:"
            yield where, _row(record, row_type, given or {}, where)
    except csv.Error as error:
        raise InputError(f"{path}: line {reader.line_num}: {error}") from error


def _row(
    record: dict[str, str], row_type: type[SettingsT], given: Mapping[str, object], where: str
) -> SettingsT:
    if "" in record:
        raise InputError(
            f"{where} more cells than the {exactly(len(record) - 1, 'column')} of the first line"
        )
    # A short line does not reach every column: the model says which of them it needs.
    reached = {name: value for name, value in record.items() if value is not None}
    try:
        return row_type.model_validate({**given, **reached})
    except ValidationError as error:
        raise InputError(f"{where} {first_problem(error)}") from error
