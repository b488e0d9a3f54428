"""Sentences over several lines: where they may break."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console, Group

from sim.show.text.page_parts import footnotes
from sim.show.text.prose import Prose


def lines(text: object, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    console.print(text)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("TTFT p50 is 66.2 s here", 17, ["TTFT p50 is", "66.2 s here"]),
        ("TTFT p50 is 66.2 s here", 18, ["TTFT p50 is 66.2 s", "here"]),
        ("of them 88.4 %: few", 13, ["of them", "88.4 %: few"]),
        ("a cache of 39.93 GiB", 17, ["a cache of", "39.93 GiB"]),
        ("in all 12 shares", 10, ["in all 12", "shares"]),
    ],
)
def test_a_number_stands_beside_its_unit(text: str, width: int, shown: list[str]) -> None:
    assert lines(Group(Prose(text)), width) == shown


def test_warnings_and_notes_keep_numbers_beside_units() -> None:
    page = footnotes(["TTFT p50 is 66.2 s here"], warnings=["of them are 88.4 % lost"])
    assert lines(page, 19) == ["", "! of them are", "  88.4 % lost", "· TTFT p50 is", "  66.2 s here"]


@given(
    st.lists(st.sampled_from(["1.20 s", "12 %", "of", "requests", "3 KiB"]), min_size=1), st.integers(9, 40)
)
def test_no_character_is_lost_or_new(parts: list[str], width: int) -> None:
    text = " ".join(parts)
    assert " ".join(lines(Group(Prose(text)), width)) == text
