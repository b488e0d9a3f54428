"""Pictures of one run. Each is drawn on axes that are given, or on new ones, and returns them."""

from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sim.base.errors import InputError
from sim.base.words import exactly
from sim.ledger.account import CAUSES
from sim.results.labels import CAUSE_LABELS, LATENCY_LABELS
from sim.results.phases import counted_rows
from sim.show.pictures.axes import say_instead
from sim.show.pictures.labels import as_label, as_labels
from sim.show.pictures.run_tables import RunTables
from sim.show.pictures.style import CHARACTERS_AN_INCH, ONE_INCHES, faint, on_axes, palette, quiet, scale
from sim.show.pictures.ticks import logarithmic, number, whole

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

LatencyName = Literal["ttft_s", "itl_s", "tpot_s", "e2e_s", "queue_s"]
Group = Literal["turn", "session", "worker"]
Level = Literal["running", "waiting", "used_blocks", "cpu_used_blocks"]

_LEVEL_LABELS: dict[Level, str] = {
    "running": "Running requests",
    "waiting": "Waiting requests",
    "used_blocks": "KV blocks in use",
    "cpu_used_blocks": "CPU tier blocks filled",
}
_BAR_INCHES = 0.2
"""What a bar with a name beside it takes."""
_ROOM_FOR_LEGEND = 1.25
_MOMENTS = 1000
"""Moments of a run at which levels are looked up: about as many as a picture has dots."""


class Pictures:
    """The pictures of a run."""

    def __init__(self, run: RunTables) -> None:
        self._run = run

    def ecdf(self, *latencies: LatencyName, ax: "Axes | None" = None) -> "Axes":
        """Draw which share of the completed requests had at most this latency, on a logarithmic axis in s.

        Args:
            latencies: TTFT and E2E if none are given; of `itl_s` the share of all gaps between tokens.
            ax: where to draw; a new figure if not given.

        """
        import seaborn as sns  # noqa: PLC0415 - slow to import

        with on_axes(ax) as panel:
            for name in latencies or ("ttft_s", "e2e_s"):
                values, counts = self._sample(name)
                if len(values):
                    sns.ecdfplot(
                        x=values, weights=counts, stat="percent", label=LATENCY_LABELS[name], ax=panel
                    )
            panel.set(xlabel="Time (s)", ylabel="At most that long (%)", ylim=(0, 100))
            if panel.lines:
                logarithmic(panel.xaxis)
                panel.legend()
            else:
                say_instead(panel, "not measured")
            return panel

    def histogram(self, latency: LatencyName = "ttft_s", *, ax: "Axes | None" = None) -> "Axes":
        """Draw how often a latency (s, logarithmic) of completed requests occurs; those of 0 s are left out.

        Args:
            latency: which one; of `itl_s` all gaps between tokens.
            ax: where to draw; a new figure if not given.

        """
        import seaborn as sns  # noqa: PLC0415

        with on_axes(ax) as panel:
            values, counts = self._sample(latency)
            longer = values > 0
            sns.histplot(x=values[longer], weights=counts[longer], log_scale=True, bins=40, ax=panel)
            if longer.any():
                logarithmic(panel.xaxis)
            else:
                say_instead(panel, "not measured")
            number(panel.yaxis)
            counted = "Gaps between tokens" if latency == "itl_s" else "Requests"
            panel.set(xlabel=f"{LATENCY_LABELS[latency]} (s)", ylabel=counted)
            return panel

    def recomputation(self, by: Group = "turn", *, ax: "Axes | None" = None) -> "Axes":
        """Draw recomputed prompt tokens, stacked by cause, for each turn, session or worker.

        Args:
            by: what has a bar of its own; a worker is the one that computed the prompt.
            ax: where to draw; a new figure if not given.

        """
        _check("by", by, Group)
        with on_axes(ax) as panel:
            # Sessions have no order but that of the workload.
            groups = counted_rows(self._run.requests).sort_values("index").groupby(by, sort=by != "session")
            tokens = groups[[f"{cause}_tokens" for cause in CAUSES]].sum()
            bottom = np.zeros(len(tokens))
            labels = as_labels(tokens.index.astype(str))
            names = [labels[name] for name in tokens.index.astype(str)]
            for cause, colour in zip(CAUSES, palette(len(CAUSES)), strict=True):
                column = tokens[f"{cause}_tokens"].to_numpy(float)
                if column.any():
                    panel.bar(
                        names, column, bottom=bottom, color=colour, linewidth=0, label=CAUSE_LABELS[cause]
                    )
                    bottom += column
            number(panel.yaxis)
            panel.grid(visible=False, axis="x")
            panel.set(xlabel=by.capitalize(), ylabel="Recomputed prompt tokens")
            if bottom.any():
                panel.set_ylim(0, _ROOM_FOR_LEGEND * bottom.max())
                panel.legend(ncols=2)
            else:
                say_instead(panel, "nothing recomputed")
            if by == "session":
                panel.tick_params("x", rotation=90)
            return panel

    def session_map(self, session: str | None = None, *, ax: "Axes | None" = None) -> "Axes":
        """Draw on which worker each turn of a session was prefilled, and which share of it was recomputed.

        Args:
            session: its name in the table of requests; the one with most recomputed tokens if not given.
            ax: where to draw; a new figure if not given. A colour bar is put beside it.

        Raises:
            InputError: there is no such session, or no request came to a worker.

        """
        turns = self._turns(session)
        with on_axes(ax) as panel:
            share = 100 * (turns["recomputed_tokens"] / turns["prompt_tokens"]).to_numpy(float)
            x, y = turns["turn"].to_numpy(int), turns["worker"].to_numpy(int)
            panel.plot(x, y, color=faint(), linewidth=1, zorder=1)
            look: dict[str, Any] = {"cmap": scale("flare"), "vmin": 0, "vmax": 100, "s": 90, "marker": "s"}
            drawn = panel.scatter(x, y, c=share, zorder=2, label="prefill", **look)
            decoded = turns[turns["decode_worker"].notna()]
            if len(decoded):
                decoders = decoded["decode_worker"].to_numpy(int)
                panel.scatter(
                    decoded["turn"], decoders, s=40, facecolors="none", edgecolors=quiet(), label="decode"
                )
                panel.legend()
            _scale_beside(panel, drawn, "Prompt recomputed (%)")
            last = int(self._run.requests[["worker", "decode_worker"]].max().max())
            whole(panel.xaxis)
            whole(panel.yaxis)
            panel.set(xlabel="Turn", ylabel="Worker", ylim=(-0.5, last + 0.5))
            where = exactly(turns["worker"].nunique(), "worker")
            title = f"Session {as_label(turns['session'].iloc[0])}: prefill on {where}"
            panel.set_title(fill(title, int(CHARACTERS_AN_INCH * ONE_INCHES[0])))
            return panel

    def latencies(self, latency: LatencyName = "ttft_s", *, ax: "Axes | None" = None) -> "Axes":
        """Draw a latency (s, logarithmic) of every completed request over the time at which it was sent (s).

        The colour is the share of its prompt that was recomputed.

        Args:
            latency: which one; `itl_s` is not one of a request.
            ax: where to draw; a new figure if not given. A colour bar is put beside it.

        """
        if latency == "itl_s":
            raise InputError("latency 'itl_s': has many values a request; tpot_s is their mean")
        _check("latency", latency, LatencyName)
        with on_axes(ax) as panel:
            requests = counted_rows(self._run.requests)
            done = requests[(requests["status"] == "completed") & (requests[latency] > 0)]
            share = 100 * (done["recomputed_tokens"] / done["prompt_tokens"]).to_numpy(float)
            look: dict[str, Any] = {"cmap": scale("flare"), "vmin": 0, "vmax": 100, "s": 14}
            drawn = panel.scatter(done["send_s"], done[latency], c=share, **look)
            _scale_beside(panel, drawn, "Prompt recomputed (%)")
            if len(done):
                logarithmic(panel.yaxis)
            else:
                say_instead(panel, "not measured")
            panel.set(xlabel="Sent at (s)", ylabel=f"{LATENCY_LABELS[latency]} (s)")
            return panel

    def over_time(self, level: Level = "running", *, ax: "Axes | None" = None) -> "Axes":
        """Draw a level of each worker over simulated time (s): a row a worker, the level as its colour.

        Args:
            level: `running` or `waiting` requests, `used_blocks` of the KV pool, or `cpu_used_blocks`.
            ax: where to draw; a new figure if not given. A colour bar is put beside it.

        Raises:
            InputError: the scenario did not have the table of workers kept, or there is nothing in it.

        """
        from matplotlib.ticker import MaxNLocator  # noqa: PLC0415

        _check("level", level, Level)
        rows = self._run.workers
        if rows[level].isna().all():
            reason = "these workers have no CPU tier" if len(rows) else "no request came to a worker"
            raise InputError(f"level {level!r}: was never measured: {reason}")
        with on_axes(ax) as panel:
            end_s = self._run.numbers["simulated_s"] or 0.0
            moments = np.linspace(0, end_s, _MOMENTS)
            workers = range(int(rows["worker"].max()) + 1)
            levels = [_levels_at(moments, rows[rows["worker"] == worker], level) for worker in workers]
            drawn = panel.imshow(
                levels,
                cmap=scale("mako_r"),
                vmin=0,
                aspect="auto",
                interpolation="nearest",
                extent=(0, end_s, len(workers) - 0.5, -0.5),
            )
            _scale_beside(panel, drawn, _LEVEL_LABELS[level], ticks=MaxNLocator(integer=True))
            panel.grid(visible=False)
            panel.invert_yaxis()
            panel.set(xlabel="Simulated time (s)", ylabel="Worker")
            whole(panel.yaxis)
            return panel

    def links(self, *, ax: "Axes | None" = None) -> "Axes":
        """Draw in which share of the run each direction of each link was busy.

        Args:
            ax: where to draw; a new figure if not given.

        """
        links = self._run.links
        names = links["kind"] + " " + links["owner"].astype(str) + " " + links["direction"]
        inches = (ONE_INCHES[0], max(ONE_INCHES[1], _BAR_INCHES * (len(names) + 3)))
        with on_axes(ax, inches) as panel:
            panel.barh(names, 100 * links["utilisation"])
            panel.invert_yaxis()
            panel.grid(visible=False, axis="y")
            number(panel.xaxis)
            if links.empty:
                say_instead(panel, "no links")
            panel.set(xlabel="Busy (% of the run)", ylabel="")
            return panel

    def _sample(self, latency: LatencyName) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return values of a latency, and how often each stands there."""
        _check("latency", latency, LatencyName)
        if latency == "itl_s":
            return self._run.itl["gap_s"].to_numpy(float), self._run.itl["n"].to_numpy(int)
        requests = counted_rows(self._run.requests)
        values = requests.loc[requests["status"] == "completed", latency].dropna().to_numpy(float)
        return values, np.ones(len(values), dtype=np.int64)

    def _turns(self, session: str | None) -> "pd.DataFrame":
        """Return the requests of a session that had a worker, by turn."""
        routed = self._run.requests[self._run.requests["worker"].notna()]
        if routed.empty:
            raise InputError("there is no map: no request came to a worker")
        if session is None:
            counts = counted_rows(routed).groupby("session")["recomputed_tokens"].sum()
            session = str(counts.astype(float).idxmax())
        turns = routed[routed["session"] == session].sort_values("turn")
        if turns.empty:
            known = list(routed["session"].unique())
            some = ", ".join(known[:5]) + (", ..." if len(known) > 5 else "")
            raise InputError(
                f"session {session!r}: none that came to a worker is called so; there are {some}"
            )
        return turns


def _scale_beside(panel: "Axes", drawn: Any, label: str, **options: Any) -> None:
    """Put what colours stand for beside a panel."""
    bar = panel.get_figure().colorbar(drawn, ax=panel, label=label, **options)  # type: ignore[union-attr]
    number(bar.ax.yaxis)
    bar.outline.set_visible(False)


def _levels_at(moments: NDArray[np.float64], rows: "pd.DataFrame", level: Level) -> NDArray[np.float64]:
    """Return a worker's level at each moment, 0 before its first row."""
    levels = np.concatenate([[0.0], rows[level].to_numpy(float)])
    found: NDArray[np.float64] = levels[np.searchsorted(rows["now_s"].to_numpy(float), moments, "right")]
    return found


def _check(what: str, value: str, allowed: Any) -> None:
    if value not in get_args(allowed):
        raise InputError(f"{what} {value!r}: there is no such; give {', '.join(get_args(allowed))}")
