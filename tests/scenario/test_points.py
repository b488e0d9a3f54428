"""`--set` with lists and ranges."""

import tomllib
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.base.errors import InputError
from sim.scenario.points import Axis, combinations, read_axes


def values(written: str) -> tuple[str, ...]:
    fixed, axes = read_axes([f"a.b={written}"])
    return axes[0].values if axes else (fixed[0].removeprefix("a.b="),)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("1", ("1",)),
        ("1,2", ("1", "2")),
        (" 1 , 2 ", ("1", "2")),
        ("kv,round-robin", ("kv", "round-robin")),
        ("64GiB,none", ("64GiB", "none")),
        ("[1,2],[3]", ("[1,2]", "[3]")),
        ("{a=1,b=[2,3]}", ("{a=1,b=[2,3]}",)),
        ("'x,y','z'", ("'x,y'", "'z'")),
        (r'"a\",b",c', (r'"a\",b"', "c")),
        (r'"a\\",c', (r'"a\\"', "c")),
        ("4:12:4", ("4", "8", "12")),
        ("0:2:0.25", ("0", "0.25", "0.5", "0.75", "1", "1.25", "1.5", "1.75", "2")),
        ("0:0.3:0.1", ("0", "0.1", "0.2", "0.3")),
        ("0:1:0.4", ("0", "0.4", "0.8")),
        ("2:0:-1", ("2", "1", "0")),
        ("1e3:3e3:1e3", ("1000", "2000", "3000")),
        ("5:5:1", ("5",)),
        ("1,4:8:2", ("1", "4", "6", "8")),
        ('"0:2:1"', ('"0:2:1"',)),
        ("a:b:c", ("a:b:c",)),
        ("1:2", ("1:2",)),
        ("1:nan:1", ("1:nan:1",)),
        ("", ("",)),
        ("it's, well", ("it's, well",)),
    ],
)
def test_values_of_a_key(written: str, expected: tuple[str, ...]) -> None:
    assert values(written) == expected


@given(st.integers(-50, 50), st.integers(0, 40), st.sampled_from(["1", "0.1", "0.25", "-0.3", "7", "1e-3"]))
def test_a_range_is_exact_and_includes_its_stop(start: int, steps: int, step: str) -> None:
    stop = start + steps * Decimal(step)
    found = values(f"{start}:{stop}:{step}")
    assert [Decimal(value) for value in found] == [start + n * Decimal(step) for n in range(steps + 1)]
    for value in found:
        assert isinstance(tomllib.loads(f"x = {value}")["x"], int | float)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("1,,2", "a value of the list is empty"),
        ("1,", "a value of the list is empty"),
        ("0:4:0", "0:4:0 never reaches its stop; write start:stop:step, such as 4:28:4"),
        ("4:0:1", "4:0:1 never reaches its stop"),
        ("0:1e40:1", "0:1e40:1 has more than 10,000 values"),
    ],
)
def test_values_that_cannot_be_used_are_refused(written: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        read_axes([f"a.b={written}"])
    assert str(error.value).startswith(f"--set a.b={written}: ")
    assert message in str(error.value)


def test_single_values_stay_as_they_were_written() -> None:
    texts = ["a=1", "b=2,3", " c = 4:6:1", "d", "a=5"]
    fixed, axes = read_axes(texts)
    assert fixed == ["a=1", "d", "a=5"]
    assert axes == [Axis("b", ("2", "3")), Axis("c", ("4", "5", "6"))]


@pytest.mark.parametrize("texts", [["a=1,2", "a=3"], ["a=3", "a=1,2"], ["a=1,2", "a=3,4"]])
def test_a_swept_key_is_given_once(texts: list[str]) -> None:
    with pytest.raises(InputError, match="--set a: is given twice"):
        read_axes(texts)


def test_every_combination_is_a_point() -> None:
    points = list(combinations([Axis("a", ("1", "2")), Axis("b", ("x", "y"))]))
    assert points == [
        {"a": "1", "b": "x"},
        {"a": "1", "b": "y"},
        {"a": "2", "b": "x"},
        {"a": "2", "b": "y"},
    ]
    assert list(combinations([])) == [{}]
