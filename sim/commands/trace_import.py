"""`sim trace import`: logs that agents leave, as a trace of lengths, times and identities, never of text."""


def import_logs() -> None:
    """To come."""
