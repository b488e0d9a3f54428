"""The pictures of every module that draws, some with little on them and some with much."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sim.base.limits import Limit
from sim.published import plots as sensitivity
from sim.published import quantity_plots
from sim.published.variants import Scored, Variant
from sim.runs.comparison import Comparison
from sim.runs.layouts import Layout
from sim.runs.run import Run
from sim.runs.sweep import Sweep
from sim.runs.tuning import Trial
from sim.show.pictures.comparison import PLOTTED, plots
from sim.show.pictures.inspection import PLOTS
from sim.show.pictures.ratios import Ratio, plots_of_ratios
from sim.show.pictures.sizing import plot_frontier
from sim.show.pictures.style import style
from sim.show.pictures.sweep import plots_of_sweep
from sim.show.pictures.tuning import plot_trials
from sim.simulation.result import RunResult
from sim.simulation.run import run
from sim.traces.inspection import inspect
from sim.workload.request import Trace
from tests.clusters import Pace, scenario, trace, turn
from tests.published.test_sensitivity import at
from tests.published.test_verdicts import CLUSTER, scored
from tests.results.runs import a_pair
from tests.runs.comparisons import drawn, made, swept
from tests.runs.test_sizing import sized, tried
from tests.runs.test_tuning import tuned
from tests.show.pictures.test_sweep import made as point


@cache
def sessions() -> Trace:
    """Two dozen sessions of two turns, names as transcripts have them."""
    turns = [
        turn(
            3.0 * number + 30.0 * again,
            64 * (again + 1),
            2,
            range(100 * number, 100 * number + 4 * (again + 1)),
            f"session-{number:02}-of-somebody",
        )
        for again in range(2)
        for number in range(24)
    ]
    return trace(*turns)


@cache
def many_turns() -> RunResult:
    """Them on four workers, each turn on another one."""
    return run(
        scenario(workers={"count": 4}),
        trace=sessions(),
        step_time=Pace(),
        policy=lambda terms, query, draw: query.request % 4,
    )


def of_a_run() -> Iterator[Figure]:
    """Pictures of a run of many sessions."""
    draw = many_turns().plot
    yield from map(figure_of, (draw.histogram(), draw.recomputation("session"), draw.session_map()))


def all_of_a_run() -> Iterator[Figure]:
    """The others, and those of a run of prefill and decode workers."""
    many, pair = many_turns().plot, a_pair().plot
    yield figure_of(many.ecdf("ttft_s", "itl_s", "tpot_s", "e2e_s", "queue_s"))
    yield from map(figure_of, (many.recomputation(), many.recomputation("worker")))
    yield from map(figure_of, (many.latencies(), many.over_time("used_blocks")))
    yield from map(figure_of, (pair.ecdf(), pair.session_map(), pair.links(), pair.over_time()))


def figure_of(ax: Axes) -> Figure:
    """The figure that axes are on."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


NAMES = [f"{'a-scenario-with-a-long-name-' * (number % 3)}{number}" for number in range(9)]


def compared() -> Iterator[Figure]:
    """Bars, names of any length, means with intervals."""
    runs = [made(name, 1.0 + i) for i, name in enumerate(NAMES)]
    yield from plots(Comparison(NAMES, runs), PLOTTED[:2])
    yield from plots(drawn(), ["ttft_s.p50"])


def all_compared() -> Iterator[Figure]:
    """Lines, few and many, several pages."""
    runs = [
        one
        for i, name in enumerate(NAMES[:3])
        for one in swept(name, {n: [1.0 + i * n] for n in (1, 2, 4, 300)})
    ]
    yield from plots(Comparison(NAMES[:3], runs), PLOTTED)
    yield from plots(
        Comparison(["a"], [facet(sessions, turns) for sessions in range(14) for turns in (1, 2, 3)]),
        PLOTTED[:2],
    )


def facet(sessions: int, turns: int) -> Run:
    """A run of a grid of two keys."""
    return made(
        "a",
        1.0 + sessions * 10.0**turns,
        workload={"sessions": sessions, "turns": turns},
        written={"workload.sessions": str(sessions), "workload.turns": str(turns)},
    )


def swept_over() -> Iterator[Figure]:
    """Values that are names."""
    policies = ["round-robin", "kv", "random", "least-loaded", "power-of-two", "device-aware-weighted"]
    runs = [point(1.0 + i, policy=(name, name)) for i, name in enumerate(policies)]
    yield from plots_of_sweep(Sweep("agg8", runs), "ttft_s.p50")


def all_swept_over() -> Iterator[Figure]:
    """A grid of two keys, values over decades, keys that were sampled."""
    grid = [
        point(10.0**credit + sessions, credit=(credit, f"{credit:g}"), sessions=(sessions, str(sessions)))
        for credit in (0.0, 0.1, 0.2, 0.25, 0.3, 1.0, 2.0, 4.0)
        for sessions in range(1, 15)
    ]
    yield from plots_of_sweep(Sweep("agg8", grid), "ttft_s.p50")
    keys = ["router.overlap_score_credit", "workload.sessions"]
    yield from plots_of_sweep(Sweep("agg8", grid, keys), "ttft_s.p50")
    yield from plots_of_sweep(Sweep("agg8", grid), "goodput.requests_per_s")


def inspected() -> Iterator[Figure]:
    """A trace with little in it."""
    yield from of_trace(trace(turn(0.0, 64, 2, (1, 2, 3, 4))))


def all_inspected() -> Iterator[Figure]:
    """One with many sessions."""
    yield from of_trace(sessions())


def of_trace(requests: Trace) -> Iterator[Figure]:
    """All pictures of a trace."""
    found = inspect(replace(requests, source="traces/a-folder-with-a-long-name/and-a-file-with-one.jsonl"))
    yield from (draw(found) for draw in PLOTS.values())


def of_published() -> Iterator[Figure]:
    """Quantities over a level and without one; few variants and many with long names."""
    rows = scored()
    for quantity in quantity_plots.quantities(rows):
        with style():
            yield quantity_plots.draw(CLUSTER.settings, quantity)


def of_sensitivity() -> Iterator[Figure]:
    """Many variants of a few rows."""
    variants = [Variant(f"an assumption with a long name {number}") for number in range(24)]
    yield sensitivity.draw([Scored(one, (at(8.0 * i), at(1.5))) for i, one in enumerate(variants, 1)])


def of_ratios() -> Iterator[Figure]:
    """Ratios that are decades apart."""
    yield from plots_of_ratios(
        [Ratio("ITL p99", "all simulated", 100.0), Ratio("ITL p50", "LRU", 1.0)], "one"
    )


def all_ratios() -> Iterator[Figure]:
    """Many runs with long names."""
    names = [f"a run of engine {number} at a rate of so many requests a second" for number in range(26)]
    ratios = [
        Ratio(name, series, 1.0 + i / 10, 0.9, 1.2 + i)
        for i, name in enumerate(names)
        for series in ("TTFT p50", "TTFT p99", "E2E p50", "of all requests")
    ]
    yield from plots_of_ratios(ratios, "a file with a name, validated on a scenario with a long name as well")


def of_sizes() -> Iterator[Figure]:
    """The frontier of many clusters near each other, and of latencies over decades."""
    many = [
        tried(Layout(prefill, decode), 64 * gib, 1.0 + 10.0 / (prefill + decode) + gib / 3)
        for prefill in (1, 2, 3)
        for decode in (0, 2, 3, 4)
        for gib in (0, 1, 2)
    ]
    name = "scenarios/a-folder-with-a-long-name/and-a-scenario-with-a-name"
    yield plot_frontier(replace(sized(many[:2]), scenario=name, tried=many))


def all_sizes() -> Iterator[Figure]:
    """Several limits, and nothing that holds; latencies over decades beside a limit far below."""
    limits = ("ttft_s.p95<4", "by_turn.later.ttft_s.p95<0.2", "prefill.recomputation<0.1")
    yield plot_frontier(replace(sized([]), limits=[Limit.read(text, "--slo") for text in limits]))
    far = [tried(Layout(workers), 0, 10.0 ** (4 - workers)) for workers in (1, 2, 3, 4, 6)]
    yield plot_frontier(replace(sized(far[3:4]), tried=far))


def tried_settings() -> Iterator[Figure]:
    """A search over one setting."""
    yield plot_trials(tuned([5.0, 6.0, 7.0]))


def all_tried_settings() -> Iterator[Figure]:
    """Over five with long keys, values over decades; many break the limit."""
    keys = [
        "router.overlap_score_credit",
        "router.prefill_load_scale",
        "router.decode_active_request_weight",
        "workers.engine.max_num_batched_tokens",
        "workers.host.bytes_a_worker",
    ]
    trials = [
        Trial(
            {key: str(10.0 ** (i % 7) / (1 + k)) for k, key in enumerate(keys)},
            1000.0 / (i + 1) ** 2,
            (i % 3 - 1.0,),
        )
        for i in range(40)
    ]
    yield plot_trials(replace(tuned([5.0, 6.0, 7.0]), trials=trials, best=trials[-1]))


PICTURES: dict[str, Callable[[], Iterator[Figure]]] = {
    "show/pictures/run.py": of_a_run,
    "show/pictures/comparison.py": compared,
    "show/pictures/sweep.py": swept_over,
    "show/pictures/inspection.py": inspected,
    "show/pictures/sizing.py": of_sizes,
    "show/pictures/tuning.py": tried_settings,
    "published/quantity_plots.py": of_published,
    "published/plots.py": of_sensitivity,
    "show/pictures/ratios.py": of_ratios,
}
"""Makes the pictures of each module that draws any."""
CROWDED: dict[str, Callable[[], Iterator[Figure]]] = {
    "show/pictures/run.py": all_of_a_run,
    "show/pictures/comparison.py": all_compared,
    "show/pictures/sweep.py": all_swept_over,
    "show/pictures/inspection.py": all_inspected,
    "show/pictures/sizing.py": all_sizes,
    "show/pictures/tuning.py": all_tried_settings,
    "show/pictures/ratios.py": all_ratios,
}
"""Those with much on them, which take longer."""
