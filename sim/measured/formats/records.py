"""JSON of a recorded run, checked against a model: messages name the file, the line and the key."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from sim.base.errors import InputError
from sim.base.messages import first_problem
from sim.base.reading import json_object, lines


class Record(BaseModel):
    """The part of a recorded object that is read; what else it holds is left alone."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


R = TypeVar("R", bound=Record)
M = TypeVar("M", bound=BaseModel)


def text_of(path: Path) -> str:
    """Return a text file, plain or gzipped, whose last line must have an end as the others have.

    Raises:
        InputError: the file cannot be read, is not UTF-8, has NUL bytes, or was cut within a line.

    """
    found, number, line = [], 0, b"\n"
    for number, line in lines(path):
        if b"\0" in line:
            raise InputError(
                f"{path}, line {number}: NUL bytes: the file was overwritten, or is none of text"
            )
        try:
            found.append(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise InputError(f"{path}, line {number}: not UTF-8 ({error.reason})") from error
    if not line.endswith(b"\n"):
        raise InputError(f"{path}, line {number}: has no line end: the file was cut")
    return "".join(found).removeprefix("\ufeff")


def read_object(path: Path, model: type[R]) -> R:
    """Return the one JSON object of a file, plain or gzipped.

    Raises:
        InputError: not one object, or a key is missing or not what it must be.

    """
    content = b"".join(line for _, line in lines(path))
    try:
        found = json_object(content, "the file")
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return checked(found, model, str(path))


def read_lines(path: Path, model: type[R]) -> Iterator[tuple[int, R]]:
    """Yield (line number, record) of a JSONL file, plain or gzipped; blank lines are skipped.

    Raises:
        InputError: a line is not an object, or a key is missing or not what it must be.

    """
    for number, line in lines(path):
        if line.isspace():
            continue
        where = f"{path}, line {number}"
        try:
            found = json_object(line)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
        yield number, checked(found, model, where)


def checked(found: dict[str, Any], model: type[M], where: str) -> M:
    """Return an object as a model.

    Raises:
        InputError: names `where`, the first key that is wrong, its value, and what is allowed.

    """
    try:
        return model.model_validate(found)
    except ValidationError as error:
        raise InputError(f"{where}: {first_problem(error, table='an object')}") from error
