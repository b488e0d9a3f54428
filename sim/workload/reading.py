"""The files of a trace as rows: every line that cannot be used is named, up to a limit."""

from pathlib import Path

from sim.base.errors import InputError
from sim.base.lines import Problems
from sim.base.progress import OnBytes, byte_bar
from sim.base.reading import json_object, lines
from sim.base.words import exactly
from sim.workload.findings import Findings
from sim.workload.formats import told
from sim.workload.formats.foreign import ForeignFormat
from sim.workload.formats.reader import Reader
from sim.workload.formats.sniff import MOST_ROW_BYTES, whole_json
from sim.workload.row import Row
from sim.workload.rows import NO_ROW, Rows
from sim.workload.sources import Source

MOST_BLANK = 1_000_000


def read_rows(source: Source, reader: Reader, rows: Rows, findings: Findings, *, own_ids: bool) -> None:
    """Add all rows of the files of a trace; `own_ids`: ids and sessions of each file are others.

    Raises:
        InputError: a file cannot be read, or lines of it cannot be used; lists them.

    """
    repeats, n_blank = _Repeats(rows), 0
    with byte_bar(f"reading {source.name}", [*source.files]) as tick:
        for reader.file, file in enumerate(source.files):
            rows.next_file(file.name if len(source.files) > 1 else None, own_ids=own_ids)
            n_blank += _read_file(file, reader, repeats, tick)
        problems = Problems(source.path)
        for row in reader.rest():
            reader.number = repeats.add(row, problems)
        problems.raise_any()
    if not rows.in_file:
        raise InputError(f"{source.path}: holds no row: a trace needs at least one JSON object a line")
    if n_blank:
        findings.notes.append(f"blank lines skipped: {n_blank}")
    reader.finish(rows, problems)
    problems.raise_any()
    findings.drop("rows dropped that repeat an earlier one, request_id and all", repeats.n_found)


def _read_file(path: Path, reader: Reader, repeats: "_Repeats", tick: OnBytes) -> int:
    """Read a file; return how many of its lines are blank."""
    n_blank, problems = 0, Problems(path)
    if (whole := whole_json(path, told)) is not None:
        for record in whole:
            for row in reader.rows(record, 1):
                reader.number = repeats.add(row, problems)
        problems.raise_any()
        return 0
    for number, line in lines(path, MOST_ROW_BYTES):
        tick(len(line))
        if line.isspace():
            n_blank += 1
            if n_blank > MOST_BLANK:
                raise InputError(
                    f"{path}, line {number}: {exactly(n_blank, 'line')} are blank, and no trace has so many"
                )
            continue
        try:
            for row in reader.rows(json_object(line), number):
                reader.number = repeats.add(row, problems)
        except ForeignFormat as error:
            raise InputError(f"{path}, line {number}: {error}") from error
        except InputError as error:
            problems.add(number, error)
    problems.raise_any()
    return n_blank


class _Repeats:
    """Adds rows but those that repeat an earlier one, `request_id` and all."""

    def __init__(self, rows: Rows) -> None:
        self.n_found = 0
        self._rows = rows
        self._first: dict[str, int] = {}
        """The row that had a `request_id` first; `NO_ROW` if that was not kept."""

    def add(self, row: Row, problems: Problems) -> int:
        """Add a row, if it is none that was there before; return its number, `NO_ROW` if it is not kept."""
        name = row.request_id
        if name is None or name not in self._first:
            number = len(self._rows)
            if not self._rows.append(row):
                number = NO_ROW
            if name is not None:
                self._first[name] = number
            return number
        first = self._first[name]
        if first == NO_ROW or self._rows.holds(first, row):
            self.n_found += 1
            return first
        place = self._rows.place(first)
        where = f"line {place}" if isinstance(place, int) else place
        problems.add(row.line, f'request_id = "{name}" is that of {where}, with other content')
        return NO_ROW
