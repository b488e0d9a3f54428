import json
from pathlib import Path
from typing import Any

import pytest

from sim.base.errors import InputError
from sim.measured.formats.bench import read_bench
from tests.measured.small_run import bench as small_bench


def file(folder: Path, **changes: Any) -> Path:
    path = folder / "bench.json"
    content = {key: value for key, value in (small_bench() | changes).items() if value is not ...}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_a_detailed_result_has_every_request_in_order(tmp_path: Path) -> None:
    bench = read_bench(file(tmp_path))
    assert (bench.model, bench.n_requests, bench.completed, bench.failed) == ("small", 3, 3, 0)
    assert (bench.duration_s, bench.max_concurrency, bench.prompt_tokens) == (1.5, None, 150)
    assert bench.requests is not None
    assert [request.start_s for request in bench.requests] == [500.0, 500.1, 501.05]
    first = bench.requests[0]
    assert (first.row, first.prompt_tokens, first.output_tokens) == (0, 40, 2)
    assert (first.ttft_s, first.itl_s, first.e2e_s) == (0.2, (0.05,), 0.25)
    assert first.completed


def test_stated_latencies_are_seconds_by_name_and_statistic(tmp_path: Path) -> None:
    bench = read_bench(file(tmp_path, p50_e2el_ms=250, median_itl_ms=3.0))
    assert bench.latencies == {
        "ttft_s": {"mean": 0.2, "p99": 0.298},
        "e2e_s": {"p50": 0.25},
        "itl_s": {"median": 0.003},
    }


def test_a_result_without_details_has_no_requests(tmp_path: Path) -> None:
    lists = ("input_lens", "output_lens", "ttfts", "itls", "start_times", "errors")
    bench = read_bench(file(tmp_path, **dict.fromkeys(lists, ...)))
    assert bench.requests is None
    assert bench.completed == 3


def test_a_request_with_an_error_failed(tmp_path: Path) -> None:
    bench = read_bench(file(tmp_path, errors=["", "Service Unavailable", ""], completed=2, failed=1))
    assert bench.requests is not None
    assert [request.completed for request in bench.requests] == [True, False, True]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"duration": ...}, "duration is missing"),
        ({"completed": "all"}, "completed = 'all'"),
        ({"ttfts": [0.2, 0.3]}, "ttfts 2"),
        ({"errors": ...}, "errors absent"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = file(tmp_path, **changes)
    with pytest.raises(InputError) as caught:
        read_bench(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="not valid JSON"):
        read_bench(path)
