"""The table of a comparison, from made-up measurements."""

from typing import Any

from tests.bench.table import WIDTH, comparison, number


def run(wall_s: float, reuse: float, *, itl_ms: float | None = 6.6, completed: int = 1000) -> dict[str, Any]:
    return {
        "wall_s": wall_s,
        "cpu_s": wall_s,
        "peak_rss_mib": 100.0,
        "num_requests": 1000,
        "completed_requests": completed,
        "prefix_cache_reused_ratio": reuse,
        "mean_ttft_ms": 12_345.6,
        "mean_itl_ms": itl_ms,
    }


def test_medians_ranges_and_the_ratio() -> None:
    ours = [run(2.0, 0.25), run(6.0, 0.27), run(3.0, 0.26)]
    peer = [run(4.0, 0.25), run(4.0, 0.25), run(8.0, 0.25)]
    head, columns, wall, *rest = comparison("agg8: eight", {"ours": ours, "Dynamo 1.4.2": peer})[1:]
    assert head.startswith("agg8: eight  ")
    assert head.endswith("  1,000 requests, medians of 3 rounds")
    assert [cell.strip() for cell in columns.split("   ") if cell] == [
        "ours",
        "Dynamo 1.4.2",
        "ours / Dynamo 1.4.2",
    ]
    # The ratio of medians 3 and 4, and the least and greatest of 2 / 4, 6 / 4 and 3 / 8.
    assert wall.split("  ")[0] == "wall s"
    assert "3.000 (2.000 to 6.000)" in wall
    assert wall.endswith("0.7500 (0.3750 to 1.500)")
    assert "0.2600 (0.2500 to 0.2700)" in rest[2]
    assert max(map(len, [head, columns, wall, *rest])) <= WIDTH


def test_one_round_of_one_side() -> None:
    lines = comparison("agg8", {"ours": [run(2.0, 0.25)]})
    assert lines[1].endswith("1,000 requests, 1 round")
    assert [line.split() for line in lines[2:4]] == [["ours"], ["wall", "s", "2.000"]]


def test_what_is_missing_is_said() -> None:
    sides = {"ours": [run(1.0, 0.0, itl_ms=None)], "Dynamo": [run(1.0, 0.0, completed=998)]}
    *_, reuse, _, itl, note = comparison("agg8", sides)
    assert reuse.split() == ["reuse", "ratio", "0.000", "0.000", "-"]
    assert itl.split() == ["mean", "ITL", "ms", "-", "6.600", "-"]
    assert note == "Dynamo completed only 998 requests"


def test_numbers_keep_four_digits() -> None:
    assert [number(value) for value in (0.26234, 8.8801, 615, 12_345.6, 0)] == [
        "0.2623",
        "8.880",
        "615.0",
        "12,346",
        "0.000",
    ]
