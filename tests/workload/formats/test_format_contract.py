"""What holds for every trace format: a module of `sim/workload/formats` with a `FORMAT` is tested here."""

import importlib
import pkgutil
from array import array
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from sim.base.errors import InputError
from sim.scenario.scenario import Scenario
from sim.workload import formats
from sim.workload.formats import FORMATS
from sim.workload.formats.row import MOST_TAGS, RowFormat
from sim.workload.request import Request
from tests.workload.files import load, refusal

Row = dict[str, Any]
OF_ROWS = {name: each for name, each in FORMATS.items() if isinstance(each, RowFormat)}
every_format = pytest.mark.parametrize("written_in", OF_ROWS.values(), ids=OF_ROWS)
TOLD = [each for each in OF_ROWS.values() if each.told_by_keys]
NAMING = [each for each in OF_ROWS.values() if "session" in each.keys]
CHUNK_TOKENS = 16


def time(of: RowFormat, seconds: float) -> float:
    """A time as a file has it: whole in a unit below a second, else with a fraction."""
    units = seconds * of.units_per_s
    return round(units) if of.units_per_s > 1 else units


def row(of: RowFormat, seconds: float, prompt: int, output: int, ids: list[int], **more: object) -> Row:
    """A row with the keys that messages have; `more` are other fields, left out where it has none."""
    fields = {
        "timestamp": time(of, seconds),
        "input_length": prompt,
        "output_length": output,
        "hash_ids": ids,
        **more,
    }
    return {of.key(field): value for field, value in fields.items() if field in of.keys}


def rows(of: RowFormat) -> list[Row]:
    """Two requests, out of order and not from 0 on."""
    return [
        row(of, 7.25, 40, 3, [1, 2, 3], session="b", request_id="q"),
        row(of, 5.5, 20, 2, [1, 4], session="a", request_id="p"),
    ]


def requests(of: RowFormat) -> list[Request]:
    """What those rows are; ids of a delta format are numbered anew."""
    short, long = ([0, 3], [0, 1, 2]) if of.deltas else ([1, 4], [1, 2, 3])
    first, second = ("a", "b") if "session" in of.keys else ("line 2", "line 1")
    return [
        Request(0, first, 0, 0.0, None, 20, 2, array("Q", short)),
        Request(1, second, 0, 1.75, None, 40, 3, array("Q", long)),
    ]


def test_every_module_with_a_format_is_one_of_another_name() -> None:
    names = [found.name for found in pkgutil.iter_modules(formats.__path__, f"{formats.__name__}.")]
    modules = [importlib.import_module(name) for name in names]
    found = [module.FORMAT for module in modules if hasattr(module, "FORMAT")]
    assert sorted(each.name for each in found) == [*FORMATS]
    assert "auto" not in FORMATS
    workload = Scenario.model_json_schema()["$defs"]["WorkloadSettings"]["properties"]
    assert workload["format"]["enum"] == ["auto", *FORMATS]


@every_format
def test_a_file_of_it_is_read_as_its_requests_in_order_from_0_and_that_is_said(
    tmp_path: Path, written_in: RowFormat
) -> None:
    trace = load(tmp_path, *rows(written_in), format=written_in.name, chunk_tokens=CHUNK_TOKENS)
    assert [*trace.requests] == requests(written_in)
    assert any(note.startswith("rows sorted by timestamp") for note in trace.notes)
    assert any(note.startswith("timestamps re-based: the first, 5") for note in trace.notes)
    assert not any("left out" in note for note in trace.notes)


@every_format
def test_all_other_names_of_its_keys_mean_the_same(tmp_path: Path, written_in: RowFormat) -> None:
    rare = {"delay", "priority", "strict_priority", "policy_class", "tag", "block_size"}
    names = {field: keys for field, keys in written_in.keys.items() if field not in rare}
    for chosen in product(*names.values()):
        renamed = {written_in.key(field): key for field, key in zip(names, chosen, strict=True)}
        other = [{renamed[key]: value for key, value in each.items()} for each in rows(written_in)]
        trace = load(tmp_path, *other, format=written_in.name, chunk_tokens=CHUNK_TOKENS)
        assert [*trace.requests] == requests(written_in)


@pytest.mark.parametrize("written_in", NAMING, ids=lambda each: each.name)
def test_rows_of_one_session_are_its_turns(tmp_path: Path, written_in: RowFormat) -> None:
    session = {"session": "a"}
    own = [7, 8] if written_in.deltas else [1, 2, 3]
    turns = [
        row(written_in, 0.5, 32, 16, [1, 2], **session),
        row(written_in, 2.5, 16 * len(own), 1, own, **session, delay=time(written_in, 1.5)),
    ]
    trace = load(tmp_path, *turns, format=written_in.name, chunk_tokens=CHUNK_TOKENS)
    first, second = trace.requests
    assert (first.turn, second.turn, second.timestamp_s) == (0, 1, 2.0)
    assert second.delay_s == (1.5 if "delay" in written_in.keys else None)
    # What a turn adds comes after the prompt and the answer before it.
    assert second.prompt_tokens == (32 + 16 + 32 if written_in.deltas else 48)


@pytest.mark.parametrize("written_in", TOLD, ids=lambda each: each.name)
def test_a_file_of_it_is_told_by_its_keys_and_times(tmp_path: Path, written_in: RowFormat) -> None:
    trace = load(tmp_path, *rows(written_in), chunk_tokens=CHUNK_TOKENS)
    assert trace.notes[0] == (
        f"read as {written_in.name}: timestamps in units of {1 / written_in.units_per_s:g} s"
    )
    assert [*trace.requests] == requests(written_in)


@every_format
@pytest.mark.parametrize("field", ["timestamp", "input_length", "output_length", "hash_ids"])
def test_a_key_that_is_missing_is_named_with_file_and_line(
    tmp_path: Path, written_in: RowFormat, field: str
) -> None:
    good, bad = rows(written_in)
    key = written_in.key(field)
    del bad[key]
    message = refusal(tmp_path, good, bad, format=written_in.name, chunk_tokens=CHUNK_TOKENS)
    assert message.startswith(f"line 2: {key} is missing: ")


@every_format
def test_a_value_that_is_wrong_is_named_with_file_line_and_key(tmp_path: Path, written_in: RowFormat) -> None:
    wrong: dict[str, Callable[[str], tuple[object, str]]] = {
        "timestamp": lambda key: ("soon", f"{key} = 'soon': must be a finite number"),
        "delay": lambda key: (-1, f"{key} = -1: must be a finite number from 0"),
        "input_length": lambda key: (0, f"{key} = 0: must be a whole number of tokens from 1"),
        "output_length": lambda key: (1.5, f"{key} = 1.5: must be a whole number of tokens from 0"),
        "hash_ids": lambda key: ([-1], f"{key} holds -1: every id must be a whole number"),
        "session": lambda key: ([], f"{key} = []: must be a string or a whole number"),
        "request_id": lambda key: ([], f"{key} = []: must be a string or a whole number"),
        "priority": lambda key: ("high", f"{key} = 'high': must be a whole number from"),
        "strict_priority": lambda key: (-1, f"{key} = -1: must be a whole number from 0"),
        "policy_class": lambda key: ([], f"{key} = []: must be a string or a whole number"),
        "tag": lambda key: ([], f"{key} = []: must be a string or a whole number"),
        "block_size": lambda key: (0, f"{key} = 0: must be a whole number of tokens from 1"),
    }
    good, bad = rows(written_in)
    for field in written_in.keys:
        key = written_in.key(field)
        value, says = wrong[field](key)
        message = refusal(tmp_path, good, bad | {key: value}, format=written_in.name)
        assert message.startswith(f"line 2: {says}")


@every_format
def test_a_unit_can_be_given_where_the_format_leaves_it_open(tmp_path: Path, written_in: RowFormat) -> None:
    options = {"format": written_in.name, "sec_multiplier": 0.5, "chunk_tokens": CHUNK_TOKENS}
    if written_in.any_unit:
        trace = load(tmp_path, *rows(written_in), **options)
        assert trace.requests[1].timestamp_s == 1.75 * written_in.units_per_s / 2
    else:
        unit = f"units of {1 / written_in.units_per_s:g} s"
        with pytest.raises(InputError, match=f"0.5: {written_in.name} timestamps are in {unit}"):
            load(tmp_path, *rows(written_in), **options)


def test_a_name_that_none_has_is_said_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"format = 'mooncak': there is none .* did you mean 'mooncake'"):
        load(tmp_path, *rows(FORMATS["mooncake"]), format="mooncak")


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"input_length": ("a",)}, r"missing \['hash_ids', 'output_length', 'timestamp'\]"),
        (dict(FORMATS["mooncake"].keys) | {"prompt": ("a",)}, r"no fields \['prompt'\]"),
    ],
)
def test_a_format_has_the_fields_of_a_row_and_all_that_are_needed(keys: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        RowFormat(name="mine", keys=keys, units_per_s=1.0)


def test_tags_are_of_kinds_not_of_requests(tmp_path: Path) -> None:
    mooncake = OF_ROWS["mooncake"]
    several = [row(mooncake, 1.0, 20, 2, [1, 2]) | {"tag": number} for number in range(MOST_TAGS + 1)]
    trace = load(tmp_path, *several[:-1], format="mooncake", chunk_tokens=CHUNK_TOKENS)
    assert trace.has_tags
    message = refusal(tmp_path, *several, format="mooncake")
    assert message.startswith(f"line {MOST_TAGS + 1}: tag = '{MOST_TAGS}': more than 1,000 different ones")
