"""Calls of a log as rows: hash ids are made from what each shares with which earlier one."""

from collections.abc import Sequence

from sim.workload.calls import Call
from sim.workload.rows import Rows


def rows_of(calls: Sequence[Call], chunk_tokens: int) -> Rows:
    """Return a row for every call, in the order of the list, times in seconds.

    `chunk_tokens` is how many tokens a hash id stands for. Rows wait for the rows of the calls that these
    waited for, and say which of their tokens are an answer.
    """
    raise NotImplementedError
