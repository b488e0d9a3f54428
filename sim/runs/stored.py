"""What comparison.json and sweep.json hold, as far as they are read again."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field


class _Stored(BaseModel):
    """A table; keys that are only for other readers are left out."""

    model_config = ConfigDict(strict=True)


class StoredRun(_Stored):
    """A run of a comparison: see `sim.runs.comparison.Run`."""

    scenario: str
    settings: str
    """The file that has them."""
    written: Mapping[str, str]
    seed: int
    draw: int = 0
    summary: dict[str, Any] | None
    notes: list[str]
    error: str | None
    switched: str = ""


class StoredComparison(_Stored):
    """comparison.json."""

    runs: Annotated[list[StoredRun], Field(min_length=1)]
    rule_runs: list[StoredRun] = []


class SweptRun(_Stored):
    """A run of a sweep: where it is in the folder's journal, and its point."""

    fingerprint: str
    written: Mapping[str, str]


class StoredSweep(_Stored):
    """sweep.json."""

    scenario: str
    sampled: list[str]
    runs: Annotated[list[SweptRun], Field(min_length=1)]
