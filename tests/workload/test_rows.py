"""Rows of a file as columns, and as requests."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.workload.formats.row import Row
from sim.workload.request import Request
from sim.workload.row_requests import RowRequests
from sim.workload.rows import Rows

TIMES = st.none() | st.integers(-(10**15), 10**15) | st.floats(-1e15, 1e15)
ROWS = st.lists(
    st.tuples(
        st.sampled_from([None, "a", "b"]),
        TIMES,
        TIMES,
        st.integers(1, 10**9),
        st.integers(0, 10**9),
        st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=4),
    ),
    max_size=8,
)


def in_columns(*rows: Row) -> Rows:
    columns = Rows()
    for row in rows:
        columns.append(row)
    return columns


@given(ROWS, st.randoms())
def test_columns_give_back_what_was_put_in(fields, random) -> None:
    rows = [Row(2 * i + 1, f[0], None, *f[1:5], array("Q", f[5])) for i, f in enumerate(fields)]
    columns = in_columns(*rows)
    for number, row in enumerate(rows):
        assert columns.holds(number, row._replace(line=99))
        earlier = [i for i in range(number) if row.session is not None and rows[i].session == row.session]
        assert columns.before[number] == (earlier[-1] if earlier else -1)
        assert columns.turn[number] == len(earlier)
        assert columns.session_name(number) == (row.session or f"line {row.line}")
        assert columns.hash_ids(number) == row.hash_ids
    order = random.sample(range(len(rows)), len(rows))
    for request, number in zip(RowRequests(columns, array("q", order), 0.0, 1.0), order, strict=True):
        assert (request.timestamp_s, request.prompt_tokens) == (
            rows[number].timestamp,
            rows[number].input_length,
        )
        assert request.delay_s == (rows[number].delay if request.turn else None)
        assert request.output_tokens == max(rows[number].output_length, 1)
    names = [columns.session_name(number) for number in range(len(rows))]
    assert [list(dict.fromkeys(names)).index(name) for name in names] == list(columns.session)
    assert columns.n_sessions == len(set(names))


ROW = Row(1, "a", None, 2000, 500, 16, 0, array("Q", [7]))


@pytest.mark.parametrize(
    "change",
    [
        {"session": None},
        {"session": "b"},
        {"timestamp": None},
        {"timestamp": 2001},
        {"delay": None},
        {"input_length": 15},
        {"output_length": 1},
        {"hash_ids": array("Q", [8])},
    ],
)
def test_a_row_that_differs_anywhere_is_another_one(change) -> None:
    assert not in_columns(ROW).holds(0, ROW._replace(**change))


def test_requests_are_a_sequence() -> None:
    rows = in_columns(ROW, ROW._replace(timestamp=3000, hash_ids=array("Q", [8, 9])))
    requests = RowRequests(rows, array("q", [1, 0]), 1000, 1000.0)
    made = (
        Request(0, "a", 1, 2.0, 0.5, 16, 1, array("Q", [8, 9])),
        Request(1, "a", 0, 1.0, None, 16, 1, array("Q", [7])),
    )
    assert requests == made
    assert made == tuple(requests)
    assert requests[-1] == made[1]
    assert requests[:1] == [made[0]]
    assert requests != made[:1]
    assert requests != made[::-1]
    with pytest.raises(IndexError):
        requests[2]
