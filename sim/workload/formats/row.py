"""Formats with a request a line, and how the fields of one are read."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sim.base.errors import InputError, is_inert, shown
from sim.base.lines import Problems
from sim.base.words import exactly
from sim.workload.findings import Findings
from sim.workload.formats.foreign import foreign_format
from sim.workload.formats.reader import Reader
from sim.workload.formats.values import LARGEST_TIME, LONGEST_NAME, Ids, length, name_of, time, whole
from sim.workload.row import Row
from sim.workload.rows import Rows

MOST_NAMES, MOST_NAME = 20, 60
"""How many names of keys or models a note lists, and how many characters of each."""
MOST_PRIORITY = 2**31
RARE = frozenset({"priority", "strict_priority", "policy_class", "tag", "block_size", "rest"})
"""Fields that a format may have a key of the same name for; "rest": keys that change nothing."""
_SAID_RARELY = RARE - {"rest"}
MOST_TAGS = 1_000
"""Different ones of a trace: each has its numbers in a summary."""
MOST_KEYS = 1_000
"""Names of keys, and sets of them, that are remembered."""


FIELDS = Row._fields[1:8]
NEEDED = frozenset({"timestamp", "input_length", "output_length", "hash_ids"})
"""Fields that every format has keys for."""
Layout = tuple[str | None, ...]
"""Which key of an object holds each of these fields, or would; None if the format has none for it."""


@dataclass(frozen=True, slots=True)
class RowFormat:
    """A JSONL format with one request a line: its name, its keys, and its unit of time.

    Raises:
        ValueError: `keys` has a field that is none, or lacks one that every request needs.

    """

    name: str
    keys: Mapping[str, tuple[str, ...]]
    """Field of `Row` to the keys that may hold it; the first of them is what messages call it."""
    units_per_s: float
    """Units of its timestamps and delays in a second."""
    any_unit: bool = False
    """Whether `workload.sec_multiplier` may say another unit."""
    told_by_keys: bool = True
    """Whether `format = "auto"` may choose it: not if another format has all of its keys."""
    deltas: bool = False
    """Whether a row holds what its turn adds to the prompt and the answer before, not the whole prompt."""

    def __post_init__(self) -> None:
        strange, missing = self.keys.keys() - {*FIELDS, *RARE}, NEEDED - self.keys.keys()
        if strange or missing:
            raise ValueError(f"keys of {self.name}: no fields {sorted(strange)}, missing {sorted(missing)}")

    @property
    def known_keys(self) -> frozenset[str]:
        """All keys that have a meaning."""
        return frozenset(key for keys in self.keys.values() for key in keys)

    def key(self, field: str) -> str:
        """Return what messages call a field."""
        return self.keys.get(field, (field,))[0]


class RowReader(Reader):
    """Reads the JSON objects of one trace as rows of a format."""

    def __init__(self, row_format: RowFormat, findings: Findings, *, may_be_empty: bool = False) -> None:
        """`may_be_empty`: whether a row may have no hash ids."""
        super().__init__(findings)
        self._may_be_empty = may_be_empty
        self._ids = Ids()
        self.unknown_keys: set[str] = set()
        """Keys of the objects so far that the format has no use for."""
        self.models: Counter[str] = Counter()
        """Rows so far by the model that they name."""
        self._format = row_format
        self._tags: set[str] = set()
        self._layouts: dict[tuple[str, ...], Layout] = {}
        """By the keys of an object, which mostly are the same in a whole file."""

    def rows(self, record: Mapping[str, Any], line: int) -> Iterable[Row]:
        """Return the row that an object holds; raises as `row` does."""
        return (self.row(record, line),)

    def row(self, record: Mapping[str, Any], line: int) -> Row:
        """Return the row that a JSON object holds.

        Raises:
            InputError: a field is missing or not what it must be; names key, value and what is allowed.

        """
        keys = self._layouts.get(tuple(record)) or self._layout(record)
        session, request_id, timestamp, delay, input_length, output_length, ids = map(
            record.get,  # type: ignore[arg-type]  # None is no key of a JSON object
            keys,
        )
        model = record.get("model")
        if type(model) is str and (len(self.models) < MOST_KEYS or model in self.models):
            self.models[model] += 1
        hash_ids = self._ids.read(keys[6], ids, empty=self._may_be_empty)
        row = Row(
            line,
            None if session is None else name_of(keys[0], session),
            None if request_id is None else name_of(keys[1], request_id),
            None if timestamp is None else time(keys[2], timestamp, -LARGEST_TIME),
            None if delay is None else time(keys[3], delay, 0),
            length(keys[4], input_length, 1),
            length(keys[5], output_length, 0),
            hash_ids,
        )
        if model is None and _SAID_RARELY.isdisjoint(record):
            return row
        return row._replace(**self._rare(record))

    def finish(self, rows: Rows, problems: Problems) -> None:
        """Say which models and unknown keys there were."""
        if len(self.models) > 1:
            found = [f"{_named(model)} ({n:,})" for model, n in self.models.most_common()]
            self.findings.notes.append(
                f"rows name {exactly(len(found), 'model')}, all simulated as the scenario's: {_listed(found)}"
            )
            self.unknown_keys.discard("model")
        if self.unknown_keys:
            keys = sorted(map(_named, self.unknown_keys))
            self.findings.notes.append(f"keys without a meaning here, left out: {_listed(keys)}")

    def _rare(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a row that few files have, where the format has keys for them."""
        found: dict[str, Any] = {}
        if type(model := record.get("model")) is str and is_inert(model) and len(model) <= LONGEST_NAME:
            found["model"] = model
        if "priority" in self._format.keys and record.get("priority") is not None:
            found["priority"] = whole("priority", record["priority"], -MOST_PRIORITY, MOST_PRIORITY)
        if "strict_priority" in self._format.keys and record.get("strict_priority") is not None:
            found["strict_priority"] = whole("strict_priority", record["strict_priority"], 0, MOST_PRIORITY)
        if "policy_class" in self._format.keys and record.get("policy_class") is not None:
            found["policy_class"] = name_of("policy_class", record["policy_class"])
        if "tag" in self._format.keys and record.get("tag") is not None:
            found["tag"] = self._tag(record["tag"])
        if "block_size" in self._format.keys and record.get("block_size") is not None:
            found["block_size"] = length("block_size", record["block_size"], 1)
        return found

    def _tag(self, value: Any) -> str:
        self._tags.add(tag := name_of("tag", value))
        if len(self._tags) > MOST_TAGS:
            raise InputError(f"tag = {shown(tag)}: more than {MOST_TAGS:,} different ones")
        return tag

    def _layout(self, record: Mapping[str, Any]) -> Layout:
        if (foreign := foreign_format(record)) is not None:
            raise foreign
        known = self._format.keys
        if len(self.unknown_keys) < MOST_KEYS:
            self.unknown_keys.update(record.keys() - self._format.known_keys)
        found = [[key for key in known.get(field, ()) if key in record] for field in FIELDS]
        plain = all(len(keys) < 2 for keys in found)
        if not plain:
            found = [[key for key in keys if record[key] is not None] for keys in found]
        for keys in found:
            if len(keys) > 1:
                raise InputError(f"{' and '.join(keys)} mean the same: give one")
        firsts = (known.get(field, (None,))[0] for field in FIELDS)
        layout = tuple(keys[0] if keys else first for keys, first in zip(found, firsts, strict=True))
        if plain and len(self._layouts) < MOST_KEYS:
            self._layouts[tuple(record)] = layout
        return layout


def _named(name: str) -> str:
    """Return a name from a file as notes have it: plain if it is, else quoted and escaped."""
    return name if name.isprintable() and len(name) <= MOST_NAME else shown(name)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")
