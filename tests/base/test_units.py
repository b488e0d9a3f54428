"""Human units in, SI numbers inside, human units out."""

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sim.base.settings import Settings
from sim.base.units import (
    COMPUTE,
    RATE,
    SIZE,
    TIME,
    TOKENS,
    Bytes,
    BytesPerSecond,
    FlopPerSecond,
    Quantity,
    Seconds,
    Tokens,
)


class Example(Settings):
    wait: Seconds = 0.0
    size: Bytes = 0
    rate: BytesPerSecond = 0.0
    context: Tokens = 0
    compute: FlopPerSecond = 0.0


@pytest.mark.parametrize(
    ("key", "written", "value"),
    [
        ("wait", "250ms", 0.25),
        ("wait", "49us", 49e-6),
        ("wait", "49 µs", 49e-6),
        ("wait", "750ps", 750e-12),
        ("wait", "23.3ns", 23.3e-9),
        ("wait", "13.2ms", 0.0132),
        ("wait", "2min", 120.0),
        ("wait", "1h", 3600.0),
        ("wait", "1d", 86400.0),
        ("wait", "0.5", 0.5),
        ("wait", ".5s", 0.5),
        ("wait", "1e-3s", 1e-3),
        ("wait", 3, 3.0),
        ("size", "64GiB", 64 * 2**30),
        ("size", "64GB", 64 * 10**9),
        ("size", "1.5KiB", 1536),
        ("size", "28.88GiB", 31_009_663_877),
        ("size", "1_000B", 1000),
        ("size", 17, 17),
        ("rate", "100Gbps", 12.5e9),
        ("rate", "100Gbit/s", 12.5e9),
        ("rate", "100GBps", 100e9),
        ("rate", "55GB/s", 55e9),
        ("rate", "3.35TB/s", 3.35e12),
        ("rate", "1GiB/s", 2.0**30),
        ("context", "213K", 213_000),
        ("context", "1M", 1_000_000),
        ("context", "8192", 8192),
        ("compute", "989TFLOP/s", 989e12),
        ("compute", "1.979PFLOPS", 1.979e15),
    ],
)
def test_written_values(key: str, written: object, value: float) -> None:
    held = getattr(Example.model_validate({key: written}), key)
    assert held == value
    assert type(held) is type(Example.model_fields[key].default)


@pytest.mark.parametrize(
    ("key", "written"),
    [
        ("wait", "5GiB"),
        ("wait", "5 parsecs"),
        ("wait", "soon"),
        ("wait", ""),
        ("wait", -1),
        ("wait", "-1ms"),
        ("wait", True),
        ("wait", math.inf),
        ("wait", math.nan),
        ("wait", None),
        ("size", "100Gbps"),
        ("size", "64gib"),
        ("size", 1.5),
        ("size", "1.5"),
        ("size", "1e400GiB"),
        ("size", "1e9999999GiB"),
        ("size", 10**400),
        ("wait", "1e400s"),
        ("rate", "64GiB"),
        ("rate", "100gbps"),
        ("context", "5GiB"),
        ("context", 0.5),
        ("compute", "55GB/s"),
    ],
)
def test_wrong_units_are_refused_with_examples(key: str, written: object) -> None:
    with pytest.raises(ValidationError) as caught:
        Example.model_validate({key: written})
    (error,) = caught.value.errors()
    assert error["loc"] == (key,)
    assert repr(written) in error["msg"]
    assert {"wait": '"250ms"', "size": '"64GiB"', "rate": '"100Gbps"'}.get(key, '"') in error["msg"]


@pytest.mark.parametrize("key", ["wait", "size", "rate", "context", "compute"])
def test_json_schema_says_number_or_string(key: str) -> None:
    number, text = Example.model_json_schema()["properties"][key]["anyOf"]
    assert number["type"] == ("integer" if key in {"size", "context"} else "number")
    assert number["minimum"] == 0
    assert text["type"] == "string"


@pytest.mark.parametrize("quantity", [TIME, SIZE, RATE, TOKENS, COMPUTE])
def test_json_schema_accepts_every_unit_and_example_and_no_other(quantity: Quantity) -> None:
    pattern = re.compile(quantity.json_schema()["anyOf"][1]["pattern"])
    for written in (*quantity.examples, *(f"1.5 {unit}" for unit in quantity.units), "1_000", "1e3"):
        assert pattern.search(written), written
        quantity.parse(written)
    for written in ("", "soon", "-1", "5 parsecs", "1 2"):
        assert not pattern.search(written), written
        with pytest.raises(ValueError, match=re.escape(quantity.examples[0])):
            quantity.parse(written)


def test_values_are_written_back_as_plain_numbers() -> None:
    example = Example.model_validate({"wait": "250ms", "size": "64GiB"})
    assert json.loads(example.model_dump_json())["wait"] == 0.25
    assert Example.model_validate(example.model_dump()) == example


@given(st.integers(0, 2**60))
def test_whole_bytes_stay_whole(n_bytes: int) -> None:
    assert SIZE.parse(n_bytes) == n_bytes
    assert SIZE.parse(f"{n_bytes}B") == n_bytes
    assert SIZE.parse(f"{n_bytes}KiB") == n_bytes * 1024


@given(st.decimals(0, 10**6, places=3))
def test_a_unit_only_moves_the_decimal_point(number: object) -> None:
    assert TIME.parse(f"{number}us") == float(f"{number}e-6")
    assert RATE.parse(f"{number}GB/s") == float(f"{number}e9")
