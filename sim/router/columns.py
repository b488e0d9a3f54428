"""Columns: what is known of many ranks at once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = NDArray[Any] | int | float
"""A number for each rank, or one number where it is the same for all."""


def entries(column: Column, count: int) -> list[Any]:
    """Return all the numbers, as Python's ints or floats."""
    return column.tolist() if isinstance(column, np.ndarray) else [column] * count


def at(column: Column, places: NDArray[np.intp]) -> Column:
    """Return the numbers at some places."""
    return column[places] if isinstance(column, np.ndarray) else column
