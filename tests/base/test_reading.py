"""Files that hang, swell or nest are refused at once; JSON means one thing."""

import gzip
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sim.base import reading
from sim.base.errors import InputError, escaped
from sim.base.reading import json_object, json_value, lines


@pytest.fixture
def quickly() -> Any:
    start = time.monotonic()
    yield
    assert time.monotonic() - start < 5


def _pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


SPECIAL: list[tuple[Callable[[Path], Path], str]] = [
    (_pipe, "is a pipe; give a file"),
    (lambda _: Path("/dev/zero"), "is a device; give a file"),
    (lambda folder: folder, "is a folder; give a file"),
    (lambda folder: folder / ("x" * 300), "File name too long"),
    (lambda folder: folder / "a\0b", "embedded null byte"),
    (lambda folder: folder / "none", "No such file"),
]


@pytest.mark.parametrize(("make", "reason"), SPECIAL)
@pytest.mark.usefixtures("quickly")
def test_what_is_no_regular_file_is_refused_without_waiting(
    tmp_path: Path, make: Callable[[Path], Path], reason: str
) -> None:
    path = make(tmp_path)
    for read in (lambda: [*lines(path)], lambda: reading.content(path), lambda: reading.json_file(path)):
        with pytest.raises(InputError, match=reason):
            read()
    with pytest.raises(OSError, match=reason):
        reading.text(path)


@pytest.mark.usefixtures("quickly")
def test_one_line_of_gigabytes_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    block = gzip.compress(b"x" * (1 << 24))
    path.write_bytes(gzip.compress(b"{}\n") + block * 64)
    read = lines(path)
    assert next(read) == (1, b"{}\n")
    with pytest.raises(InputError, match=r"bomb\.gz, line 2: is longer than 64 MiB"):
        next(read)
    with pytest.raises(InputError, match=r"bomb\.gz: is larger than 1 MiB"):
        reading.content(path, 1 << 20)


def test_a_line_of_just_the_limit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc\nabcd")
    assert [*lines(path, 4)] == [(1, b"abc\n"), (2, b"abcd")]
    with pytest.raises(InputError, match=r"a, line 1: is longer than 3 B"):
        [*lines(path, 3)]


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 1}',
        '{"a": 1, "b": {"c": 2, "c": 2}}',
        '{"a": 1, "\\u0061": 2}',
        '{"a": "::::", "b": 1, "b": 1}',
        '[{"a": 1, "a": 2}]',
    ],
)
def test_a_key_twice_in_one_object_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"key '.' is given twice"):
        json_value(text)
    with pytest.raises(InputError, match="is given twice"):
        json_value(text.encode())


@pytest.mark.parametrize("text", ['{"a": "x:y", "b": ["::"]}', '{"a": {"b": 1}, "b": 2}', "[]", '{"a:": 1}'])
def test_a_colon_is_no_sign_of_a_key_given_twice(text: str) -> None:
    assert json_value(text) == json_value(text.encode())


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 300 + "]" * 300])
@pytest.mark.usefixtures("quickly")
def test_brackets_nested_deeply_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="not valid JSON"):
        json_object(text)


def test_brackets_up_to_the_limit_are_read() -> None:
    assert json_value("[" * 100 + "]" * 100)


def test_messages_escape_what_steers_a_terminal() -> None:
    assert escaped("a\x1b[31m\x00\ud800\u202e\x9b\n\tü🙂") == "a\\x1b[31m\\x00\\ud800\\u202e\\x9b\n\tü🙂"
