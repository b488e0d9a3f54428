"""What the pictures of a run are drawn from."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pandas as pd


class RunTables(Protocol):
    """The tables of a run (`sim.results.tables`) and its numbers by dotted name."""

    @property
    def numbers(self) -> Mapping[str, float | None]:
        """Every number of the summary; None: nothing was measured."""

    @property
    def requests(self) -> "pd.DataFrame":
        """A row a request."""

    @property
    def workers(self) -> "pd.DataFrame":
        """A row whenever the levels of a worker changed."""

    @property
    def itl(self) -> "pd.DataFrame":
        """Gaps between tokens, and how often each came up."""

    @property
    def links(self) -> "pd.DataFrame":
        """A row for each direction of each link."""
