"""The table of a sweep, worked out by hand."""

from collections.abc import Sequence

from rich.console import Console

from sim.runs.run import Run
from sim.runs.sweep import Sweep
from sim.show.text.sweep import point_line, render_sweep
from tests.runs.comparisons import made, swept


def lines(sweep: Sweep, metrics: Sequence[str]) -> list[str]:
    console = Console(width=100, highlight=False)
    with console.capture() as capture:
        console.print(render_sweep(sweep, metrics))
    return [line.rstrip() for line in capture.get().splitlines()]


def two_keys() -> Sweep:
    return Sweep(
        "fast",
        [
            made(
                "fast",
                float(sessions + turns + seed),
                seed,
                workload={"sessions": sessions, "turns": turns},
                written={"workload.sessions": str(sessions), "workload.turns": str(turns)},
            )
            for sessions in (1, 2)
            for turns in (10, 20)
            for seed in (0, 1, 2)
        ],
    )


def test_a_row_for_each_point_and_a_gap_where_the_first_key_moves() -> None:
    shown = lines(two_keys(), ["ttft_s.p50", "requests.completed"])

    assert " ".join(shown[0].split()) == "fast The fast one means of seeds 0 to 2"
    # Values 11, 12, 13: their mean 12, times and by exp(4.303 x 1 / sqrt(3) / 12).
    assert [line.split() for line in shown[4:9]] == [
        ["1", "10", "12.0", "s", "(9.76", "to", "14.8", "s)", "240"],
        ["1", "20", "22.0", "s", "(19.7", "to", "24.6", "s)", "240"],
        [],
        ["2", "10", "13.0", "s", "(10.7", "to", "15.7", "s)", "240"],
        ["2", "20", "23.0", "s", "(20.6", "to", "25.6", "s)", "240"],
    ]
    assert "· in brackets: 95 % interval of the mean over the seeds" in shown


def test_one_seed_has_no_interval() -> None:
    shown = lines(Sweep("fast", swept("fast", {12: [1.0], 20: [2.0]})), ["ttft_s.p50"])
    assert [line.split() for line in shown[3:5]] == [["12", "1.00", "s"], ["20", "2.00", "s"]]
    assert "· no intervals: they take 3 seeds or more" in shown


def test_what_is_missing_or_thin_is_marked() -> None:
    runs = [*swept("fast", {12: [1.0, 2.0, 3.0]}), made("fast", 2.0, 0, workload={"sessions": 20}, thin=True)]
    runs += [made("fast", None, seed, workload={"sessions": 20}, error="no room") for seed in (1, 2)]
    shown = lines(Sweep("fast", runs), ["ttft_s.p50"])

    assert shown[4].split() == ["20", "2.00", "s†*"]
    assert any(line.startswith("· † without some of the runs") for line in shown)
    assert any(line.startswith("· * fewer than ten samples") for line in shown)


def test_what_is_too_wide_goes_on_below() -> None:
    names = ["ttft_s.p50", "prefill.recomputation", "prefill.by_cause.elsewhere", "requests.completed"]
    shown = lines(two_keys(), names)
    assert max(map(len, shown)) <= 100
    wide = Sweep("fast", [with_numbers(run, 12) for run in two_keys().runs])
    shown = lines(wide, [f"number_{n}_s" for n in range(12)])

    assert max(map(len, shown)) <= 100
    assert sum(line.split()[:2] == ["2", "20"] for line in shown) == 4


def with_numbers(run: Run, n: int) -> Run:
    return Run(
        run.scenario, run.settings, run.written, run.seed, {f"number_{k}_s": 1.0 + run.seed for k in range(n)}
    )


def test_draws_give_medians_with_bands() -> None:
    runs = [
        Run(
            "fast",
            {"timing": {"draw": draw}, "workload": {"sessions": 12}},
            {"workload.sessions": "12", "timing.draw": str(draw)},
            seed,
            {"ttft_s": {"p50": draw + seed}},
            draw=draw,
        )
        for draw in (1, 2, 6)
        for seed in (0, 1)
    ]
    shown = lines(Sweep("fast", runs), ["ttft_s.p50"])

    assert " ".join(shown[0].split()) == "fast medians of 3 draws, seeds 0 and 1"
    # Of 1, 2, 2, 3, 6, 7 the 2.5th percentile is an eighth of the way from 1 to 2, the 97.5th so from 7 to 6.
    assert shown[3].split() == ["12", "2.50", "s", "(1.12", "to", "6.88", "s)"]
    assert any(line.startswith("· in brackets: the 95 % band of the draws") for line in shown)


def test_a_point_on_one_line() -> None:
    point = Sweep("fast", swept("fast", {12: [1.0, 2.0, 3.0]}))
    assert point_line(point, ["ttft_s.p50", "prefill.recomputation"]) == (
        "sessions=12: TTFT p50 2.00 s, Recomputation 20.0 %"
    )
