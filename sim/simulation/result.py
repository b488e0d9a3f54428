"""What a run gave: its numbers, its tables as data frames, its pictures; fresh, or from a folder."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.base.errors import InputError
from sim.base.folder import new_folder
from sim.base.shown import Shown
from sim.base.whole_file import whole_file, write_text
from sim.results.metrics import to_json
from sim.results.quantities import flat, label, si_unit
from sim.results.rows import Rows
from sim.results.tables import SOMETIMES, TABLES
from sim.runs.saved import SCENARIO, SUMMARY, read_summary
from sim.scenario.load import load_scenario
from sim.scenario.scenario import Scenario
from sim.show.timeline import timeline, write_events
from sim.simulation.explain import Explanation, explain, find_request

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import RenderableType

    from sim.show.pictures.run import Pictures


class RunResult(Shown):
    """What a run gave. Shows the page that `sim run` prints. Times are seconds of simulated time."""

    def __init__(
        self,
        name: str,
        scenario: Scenario,
        summary: Mapping[str, Any],
        rows: Rows,
    ) -> None:
        self.name = name
        """What a comparison calls it: the name or file that was run, or the folder that was loaded."""
        self.scenario = scenario
        """The settings that it ran with."""
        self.rows = rows
        """The tables as they are kept: see `sim.results.tables`."""
        self._summary = summary

    @property
    def title(self) -> str:
        """The scenario's title."""
        return self.scenario.title

    @property
    def notes(self) -> Sequence[str]:
        """What a reader must know beside the numbers, a sentence each."""
        notes: Sequence[str] = self._summary.get("notes", [])
        return notes

    # -- numbers --------------------------------------------------------------------------------------------

    @cached_property
    def numbers(self) -> dict[str, float | None]:
        """Every number by its dotted name, in SI units: `numbers["ttft_s.p95"]`; None: nothing measured."""
        return flat(self._summary)

    def summary(self) -> "pd.DataFrame":
        """Return every number as a row: indexed by dotted name, with `label`, `value` (SI) and `unit`.

        A share has no unit: a `prefill.recomputation` of 1.5 says that 150 % was computed on top.
        """
        import pandas as pd  # noqa: PLC0415 - slow to import

        rows = [(label(name), value, si_unit(name)) for name, value in self.numbers.items()]
        index = pd.Index(list(self.numbers), name="metric")
        return pd.DataFrame(rows, index=index, columns=["label", "value", "unit"]).astype({"value": float})

    def to_dict(self) -> dict[str, Any]:
        """Return what `sim run --format json` prints, in SI units: see `sim.results.metrics`."""
        return dict(self._summary)

    # -- tables ---------------------------------------------------------------------------------------------

    @cached_property
    def requests(self) -> "pd.DataFrame":
        """A row a request, in the order in which they ended: its times, workers, latencies, prompt tokens.

        `recomputed_tokens` is the sum of the causes `preempted_tokens`, `bound_tokens`, `checkpoint_tokens`,
        `in_flight_tokens`, `evicted_here_tokens`, `elsewhere_tokens` and `gone_tokens`. `columns("requests")`
        describes each column with its unit. A run that leaves requests out of its numbers has a last column
        `phase`: those that count are "measured".
        """
        return self._frame("requests")

    @cached_property
    def decisions(self) -> "pd.DataFrame":
        """A row a candidate of every routing decision: what its cost was made of, and which was `chosen`.

        Costs and overlaps are in blocks. `columns("decisions")` describes each column with its unit.

        Raises:
            InputError: the scenario did not have this table kept (`output.tables`).

        """
        return self._frame("decisions")

    @cached_property
    def workers(self) -> "pd.DataFrame":
        """A row whenever the levels of a worker changed: requests that run and wait, blocks in use.

        They hold until the worker's next row. `columns("workers")` describes each column with its unit.

        Raises:
            InputError: the scenario did not have this table kept (`output.tables`).

        """
        return self._frame("workers")

    @cached_property
    def itl(self) -> "pd.DataFrame":
        """Gaps between tokens, of all requests: `gap_s` to within 0.4 %, and `n`, how many were that long."""
        return self._frame("itl")

    @cached_property
    def links(self) -> "pd.DataFrame":
        """A row for each direction of each link: what went over it (bytes), how long it was busy (s).

        `columns("links")` describes each column with its unit.
        """
        return self._frame("links")

    @staticmethod
    def columns(table: str = "requests") -> "pd.DataFrame":
        """Return what each column of a table says: indexed by its name, with `unit` and `about`.

        Raises:
            InputError: no table has this name.

        """
        import pandas as pd  # noqa: PLC0415

        if table not in TABLES:
            raise InputError(f"no table is called {table!r}; there are {', '.join(TABLES)}")
        rows = [
            (column.name, column.unit, column.about) for column in (*TABLES[table], *SOMETIMES.get(table, ()))
        ]
        return pd.DataFrame(rows, columns=["column", "unit", "about"]).set_index("column")

    def _frame(self, table: str) -> "pd.DataFrame":
        if table not in self.rows.tables:
            raise InputError(
                f"{self.name}: has no table of {table}; output.tables of its scenario says which are kept"
            )
        return self.rows.frame(table)

    def explain(self, request: int | str) -> Explanation:
        """Return why a request went where it went, and what that cost afterwards.

        Args:
            request: its index, or "session:turn", such as "talk-3:7".

        Raises:
            InputError: there is no such request, or the table of decisions was not kept.

        """
        index = find_request(self.requests, str(request))
        scenario = self.scenario
        return explain(
            self.requests,
            self.decisions,
            index,
            block_tokens=scenario.block_tokens,
            router=scenario.router,
            notes=self.notes,
            conditional=scenario.disaggregation.conditional is not None,
            versions=self._summary.get("versions"),
        )

    # -- pictures -------------------------------------------------------------------------------------------

    @property
    def plot(self) -> "Pictures":
        """The pictures of a run: `plot.ecdf()`, `plot.recomputation()`, `plot.session_map()` and more."""
        from sim.show.pictures.run import Pictures  # noqa: PLC0415 - loads matplotlib

        return Pictures(self)

    def __rich__(self) -> "RenderableType":
        """Return the page that `sim run` prints."""
        from sim.show.text.summary import render  # noqa: PLC0415 - loads rich

        return render(self._summary, self.title, self.notes)

    def trace_events(self) -> list[dict[str, Any]]:
        """Return a timeline in Chrome's trace event format: see `sim.show.timeline`."""
        tables, scenario = self.rows.tables, self.scenario.workers
        roles = ["worker"] * (scenario.count or 0)
        roles += ["prefill worker"] * (scenario.prefill or 0) + ["decode worker"] * (scenario.decode or 0)
        return timeline(
            roles,
            self.requests,
            self.decisions if "decisions" in tables else None,
            self.workers if "workers" in tables else None,
            self.numbers["simulated_s"] or 0.0,
        )

    # -- folders --------------------------------------------------------------------------------------------

    def save(self, folder: str | Path, *, replace: bool = False) -> None:
        """Write it to a new folder, as `sim run --out` does; `sim.load` reads it back.

        Args:
            folder: is made, with its parents.
            replace: whether earlier results in it make room.

        Raises:
            InputError: the folder cannot be made, or is not empty.
            KeptElsewhereError: it was taken meanwhile; says where the results are.

        """
        with new_folder(Path(folder), replace=replace) as building:
            self.write(building)

    def save_trace_events(self, file: str | Path) -> None:
        """Write a timeline that ui.perfetto.dev and chrome://tracing show.

        Args:
            file: JSON, gzipped if its name ends with ".gz"; replaced if it is there.

        Raises:
            InputError: the file cannot be written.

        """
        with whole_file(Path(file)) as building:
            write_events(self.trace_events(), building)

    def write(self, directory: Path) -> None:
        """Write summary.json, the tables as Parquet, and the resolved scenario into an existing folder."""
        self.rows.write(directory)
        write_text(directory / SUMMARY, to_json(self._summary))
        write_text(directory / SCENARIO, self.scenario.to_toml())

    @classmethod
    def load(cls, directory: Path) -> "RunResult":
        """Return what `write` wrote; a trace that it was made from may be gone by now.

        Raises:
            InputError: the folder does not hold one run, or a file is damaged; names it.

        """
        summary = read_summary(directory / SUMMARY)
        scenario = load_scenario(directory / SCENARIO, needs_files=False)
        return cls(directory.resolve().name, scenario, summary, Rows.read(directory))
