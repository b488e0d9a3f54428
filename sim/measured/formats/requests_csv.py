"""Runs of one engine as a table of requests: CSV, plain or gzipped, a row each, many runs in a file."""

import zlib
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sim.base.errors import InputError

COLUMNS = ("run", "arrival_s", "send_s", "input_tokens", "output_tokens", "ttft_ms", "e2e_ms")
_NUMBERS = COLUMNS[1:]
_TOKENS = ("input_tokens", "output_tokens")
_ANSWER = ("ttft_ms", "e2e_ms")
_MOST_TOKENS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class RequestsRun:
    """The requests of one run in the order in which they were meant to be sent, a number each in every array.

    Times are seconds of the run.
    """

    name: str
    arrival_s: NDArray[np.float64]
    """When each was meant to be sent."""
    send_s: NDArray[np.float64]
    """When the client did: later, if it limits how many are in flight."""
    input_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    ttft_s: NDArray[np.float64]
    """From sending to the first token; nan for a request without an answer."""
    e2e_s: NDArray[np.float64]
    """From sending to the last token; nan for a request without an answer."""

    def __len__(self) -> int:
        return len(self.arrival_s)

    @property
    def rate_per_s(self) -> float:
        """Requests that were meant to be sent a second."""
        span_s = float(self.arrival_s[-1] - self.arrival_s[0])
        return (len(self) - 1) / span_s if span_s else 0.0

    @property
    def tpot_s(self) -> NDArray[np.float64]:
        """Mean time of a token after the first; nan below two tokens."""
        gaps = np.where(self.output_tokens > 1, self.output_tokens - 1, np.nan)
        tpot_s: NDArray[np.float64] = (self.e2e_s - self.ttft_s) / gaps
        return tpot_s

    def arrivals_fingerprint(self) -> str:
        """Return what runs share whose first 100 requests were meant to be sent at the same times.

        Counted from the first, to a tenth of a millisecond.
        """
        times = np.rint((self.arrival_s[:100] - self.arrival_s[0]) * 1e4).astype(np.int64)
        return sha256(",".join(map(str, times.tolist())).encode()).hexdigest()[:16]

    def first(self, n: int) -> "RequestsRun":
        """Return the run's first `n` requests as a run."""
        return RequestsRun(
            self.name,
            self.arrival_s[:n],
            self.send_s[:n],
            self.input_tokens[:n],
            self.output_tokens[:n],
            self.ttft_s[:n],
            self.e2e_s[:n],
        )


@dataclass(frozen=True, slots=True)
class RequestsFile:
    """All runs of a file, in the order of their first rows."""

    path: Path
    sha256: str
    """Fingerprint of the content, of the unpacked one if the file is gzipped."""
    runs: tuple[RequestsRun, ...]

    def run(self, name: str) -> RequestsRun:
        """Return the run of this name.

        Raises:
            InputError: there is none.

        """
        for run in self.runs:
            if run.name == name:
                return run
        names = ", ".join(run.name for run in self.runs)
        raise InputError(f"{self.path}: no run {name!r}; it has {names}")


def read_requests(path: Path) -> RequestsFile:
    """Read a file with the columns of `COLUMNS`; others are ignored.

    `ttft_ms` and `e2e_ms` may be empty together: a request without an answer.

    Raises:
        InputError: names the file and, where a row is at fault, its line, the value, and what is allowed.

    """
    content = _content(path)
    table = _parsed(path, content)
    _check(path, table)
    runs = tuple(
        _run(str(name), rows.sort_values("arrival_s", kind="stable"))
        for name, rows in table.groupby("run", sort=False)
    )
    return RequestsFile(path, sha256(content).hexdigest(), runs)


def _content(path: Path) -> bytes:
    import gzip  # noqa: PLC0415 - most files are not packed

    try:
        content = path.read_bytes()
        return gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _parsed(path: Path, content: bytes) -> pd.DataFrame:
    from io import BytesIO  # noqa: PLC0415

    try:
        table = pd.read_csv(BytesIO(content), dtype=str, keep_default_na=False, skip_blank_lines=False)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a CSV file: {error}") from error
    if not isinstance(table.index, pd.RangeIndex):  # pandas takes what leads longer rows for their names
        raise InputError(f"{path}: line 2: has more values than the header has columns")
    missing = [name for name in COLUMNS if name not in table]
    if missing:
        raise InputError(f"{path}: no column {', '.join(missing)}; needed are {', '.join(COLUMNS)}")
    if table.empty:
        raise InputError(f"{path}: no requests: there is nothing below the header")
    for name in _NUMBERS:
        numbers = pd.to_numeric(table[name], errors="coerce")
        empty = (table[name] == "") & (name in _ANSWER)
        _refuse(path, table, name, numbers.isna() & ~empty, "a number")
        table[name] = numbers
    return table


def _check(path: Path, table: pd.DataFrame) -> None:
    _refuse(path, table, "run", table["run"] == "", "the name of a run")
    for name in _NUMBERS:
        _refuse(path, table, name, np.isinf(table[name]), "a finite number")
    for name in _TOKENS:
        wrong = ~table[name].between(1, _MOST_TOKENS) | (table[name] != table[name].round())
        _refuse(path, table, name, wrong, f"a whole number of tokens, 1 to {_MOST_TOKENS:,}")
    _refuse(path, table, "ttft_ms", table["ttft_ms"] <= 0, "more than 0 ms")
    _refuse(path, table, "e2e_ms", table["e2e_ms"] < table["ttft_ms"], "at least ttft_ms")
    half = table["ttft_ms"].isna() != table["e2e_ms"].isna()
    _refuse(path, table, "e2e_ms", half, "a number where ttft_ms has one, and empty where that is")


def _refuse(path: Path, table: pd.DataFrame, name: str, wrong: "pd.Series[bool]", allowed: str) -> None:
    places = np.flatnonzero(wrong)
    if len(places):
        row = int(places[0])
        value: Any = table[name].iloc[row]
        raise InputError(f"{path}: line {row + 2}: {name} = {value!s}: must be {allowed}")


def _run(name: str, rows: pd.DataFrame) -> RequestsRun:
    return RequestsRun(
        name,
        rows["arrival_s"].to_numpy(float),
        rows["send_s"].to_numpy(float),
        rows["input_tokens"].to_numpy(np.int64),
        rows["output_tokens"].to_numpy(np.int64),
        rows["ttft_ms"].to_numpy(float) / 1e3,
        rows["e2e_ms"].to_numpy(float) / 1e3,
    )
