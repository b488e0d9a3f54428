"""Tables in more and in less room, worked out by hand."""

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console, RenderableType

from sim.show.text.page_parts import table
from sim.show.text.page_table import Beside, PageTable

WORDS = st.text("abcdefgh", min_size=1, max_size=8)


def lines(part: RenderableType, width: int) -> list[str]:
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(part)
    assert all(len(line) <= width for line in capture.get().splitlines())
    return [line.rstrip() for line in capture.get().splitlines()]


def example() -> PageTable:
    rows = table("Row", "of the first", "of the second one")
    rows.add_row("a", "1,000", "12 ")
    rows.add_row("b", "2", "3,456 ")
    return rows


def test_with_room_for_it_a_table_is_what_it_is() -> None:
    whole = ["Row  of the first  of the second one", "a           1,000                 12"]
    assert lines(example(), 36)[:2] == lines(example(), 90)[:2] == whole


def test_headers_fold_no_more_than_they_must_and_the_title_never() -> None:
    assert lines(example(), 35) == [
        "                       of the",
        "Row  of the first  second one",
        "a           1,000          12",
        "b               2       3,456",
    ]
    assert lines(example(), 20) == [
        "             of the",
        "     of the  second",
        "Row   first     one",
        "a     1,000      12",
        "b         2   3,456",
    ]


def test_then_gaps_are_narrower_and_places_without_marks_go() -> None:
    assert lines(example(), 17) == [
        "           of the",
        "    of the second",
        "Row  first    one",
        "a    1,000     12",
        "b        2  3,456",
    ]
    marked = table("Row", "n", "m")
    marked.add_row("a", "1 ", "2*")
    assert lines(marked, 8) == ["Row n  m", "a   1 2*"]


def test_then_columns_go_on_below_beside_the_first_again() -> None:
    rows = table("R", "aaaa", "bbbb", "cccc")
    rows.add_row("x", "1", "2", "3")
    assert lines(rows, 14) == ["R  aaaa  bbbb", "x     1     2", "", "R  cccc", "x     3"]
    # Where not even one of them fits beside the first, texts wrap.
    assert lines(rows, 4)[:4] == ["  aa", "R aa", "x  1", ""]


def test_parts_stand_one_below_the_other_where_there_is_no_room_beside() -> None:
    left, right = table("Left", "n"), table("Right", "n")
    left.add_row("a", "1")
    right.add_row("b", "2")
    assert lines(Beside(left, right), 17) == ["Left  n  Right  n", "a     1  b      2"]
    assert lines(Beside(left, right), 12) == ["Left  n", "a     1", "", "Right  n", "b      2"]


@given(st.lists(st.lists(WORDS, min_size=4, max_size=4), min_size=2, max_size=4), st.integers(18, 50))
def test_every_word_is_there_in_any_width(cells: list[list[str]], width: int) -> None:
    headers, *rows = cells
    shown = table(*headers)
    for row in rows:
        shown.add_row(*row)
    found = " ".join(lines(shown, width)).split()
    assert {word for row in cells for word in row} <= set(found)
