"""A share of a whole that may be nothing."""


def ratio(part: float, whole: float) -> float | None:
    """Return the one over the other; None of nothing."""
    return part / whole if whole else None
