"""Data frames as plain Python values."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def plain_rows(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return the rows of a frame by column name, as Python's own types, None where nothing was measured."""
    values = frame.astype(object).where(frame.notna(), None)
    return [
        {str(name): value.item() if hasattr(value, "item") else value for name, value in row.items()}
        for row in values.to_dict("records")
    ]
