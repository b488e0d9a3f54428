import json
import re
from itertools import accumulate
from math import inf
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.base.errors import InputError
from sim.measured.formats.prometheus import Histogram, Scrape, Window, parse, read_scrape, read_series


def counts(*values: float) -> Window:
    """Return the window of a counter that had these values."""
    return Window([parse(f'n_total{{a="1"}} {value}\n', "here") for value in values])


def test_a_counter_is_what_it_rose_by_over_matching_labels() -> None:
    before = parse('n_total{a="1",b="x"} 5\nn_total{a="2",b="x"} 1\n', "here")
    after = parse('n_total{a="1",b="x"} 8\nn_total{a="2",b="x"} 5\n', "here")
    window = Window([before, after])
    assert window.increase("n_total") == 7
    assert window.increase("n_total", a="1") == 3
    assert window.increase("n_total", a="2", b="x") == 4
    assert window.increase("n_total", a="3") is None
    assert window.increase("other_total") is None


def test_labels_that_appear_later_count_from_0() -> None:
    window = Window([Scrape({}), parse('n_total{a="1"} 4\n', "here")])
    assert window.increase("n_total") == 4
    assert not window.since_start


def test_a_single_scrape_counts_from_the_start_of_the_process() -> None:
    window = counts(6)
    assert window.since_start
    assert window.increase("n_total") == 6


def test_a_restart_counts_again_from_0() -> None:
    window = counts(10, 12, 3, 4)
    assert window.increase("n_total") == 2 + 3 + 1
    assert window.restarted("n_total")
    assert not counts(10, 10, 12).restarted("n_total")


@given(st.lists(st.integers(0, 100), min_size=1))
def test_between_any_scrapes_what_happened_adds_up(steps: list[int]) -> None:
    values = list(accumulate([7, *steps]))
    assert counts(*values).increase("n_total") == sum(steps)
    assert counts(values[0], values[-1]).increase("n_total") == sum(steps)


def histogram(*cumulative: int, total: float) -> Scrape:
    bounds = ("0.1", "0.5", "+Inf")
    buckets = [f'h_bucket{{le="{le}"}} {n}\n' for le, n in zip(bounds, cumulative, strict=True)]
    return parse(f"# TYPE h histogram\n{''.join(buckets)}h_sum {total}\nh_count {cumulative[-1]}\n", "here")


def test_a_histogram_is_its_difference() -> None:
    found = Window([histogram(1, 1, 1, total=0.05), histogram(3, 6, 8, total=4.55)]).histogram("h")
    assert found is not None
    assert (found.bounds, found.counts) == ([0.1, 0.5, inf], [2, 5, 7])
    assert (found.count, found.sum) == (7, pytest.approx(4.5))
    assert found.mean == pytest.approx(4.5 / 7)
    assert [found.bucket(share) for share in (0.2, 0.5, 0.9)] == [(0.0, 0.1), (0.1, 0.5), (0.5, inf)]
    assert Window([Scrape({})]).histogram("h") is None


def test_a_histogram_without_observations_has_no_mean() -> None:
    found = Window([histogram(1, 1, 1, total=0.05)] * 2).histogram("h")
    assert found is not None
    assert (found.count, found.mean, found.bucket(0.5)) == (0, None, None)


def test_histograms_of_the_same_buckets_add_up() -> None:
    one, two = (Window([histogram(*counts, total=1.5)]).histogram("h") for counts in ((1, 2, 3), (0, 0, 4)))
    assert one is not None
    assert two is not None
    assert (one + two) == Histogram([0.1, 0.5, inf], [1, 2, 7], 3.0)
    with pytest.raises(ValueError, match="do not add up"):
        one + Histogram([inf], [1], 1.0)


def test_gauges_and_labels_are_read_of_a_scrape(tmp_path: Path) -> None:
    path = tmp_path / "m.prom"
    path.write_text('# HELP g G\n# TYPE g gauge\ng{w="b"} 1\ng{w="a"} 2.5\n', encoding="utf-8")
    scrape = read_scrape(path)
    assert scrape.total("g") == 3.5
    assert scrape.total("g", w="a") == 2.5
    assert scrape.total("h") is None
    assert scrape.label("g", "w") == ["a", "b"]
    assert scrape.has("g")
    assert not scrape.has("h")


def test_a_bad_line_is_named() -> None:
    with pytest.raises(InputError, match=r"here: line 2: 'b many': not Prometheus text"):
        parse("a 1\nb many\n", "here")


def test_a_series_keeps_the_names_that_are_wanted(tmp_path: Path) -> None:
    path = tmp_path / "series.jsonl"
    rows = [
        {
            "t": t,
            "target": target,
            "text": f"# TYPE n counter\nn_total {value}\nn_totally 9\nother 1\nh_sum 2\n",
        }
        for t, target, value in ((1.0, "w0", 1), (1.0, "w1", 5), (2.0, "w0", 4))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    series = read_series(path, ["n_total", "h"])
    assert [scrape.time_s for scrape in series["w0"]] == [1.0, 2.0]
    assert series["w0"][0].samples.keys() == {"n_total", "h_sum"}
    assert Window(series["w0"]).increase("n_total") == 3
    assert len(series["w1"]) == 1


def test_a_series_line_without_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "series.jsonl"
    path.write_text('{"t": 1, "target": "w0"}\n', encoding="utf-8")
    with pytest.raises(InputError, match="line 1: text is missing"):
        read_series(path, ["n"])


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('vllm:prompt_tokens_total{engine="0"} +Inf', "vllm:prompt_tokens_total is inf"),
        ("dynamo_component_requests_total NaN", "dynamo_component_requests_total is nan"),
        ('vllm:x_bucket{le="+Infnan"} 1', "could not convert string to float"),
        ('vllm:x_bucket{le="nan"} 1', "vllm:x_bucket has a bucket without an end"),
    ],
)
def test_what_is_no_number_is_refused_with_its_line(line: str, says: str) -> None:
    with pytest.raises(InputError, match=f"here: line 2: .*{re.escape(says)}"):
        parse(f"vllm:a 1\n{line}\n", "here")
    assert parse("python_gc NaN\n", "here").has("python_gc")


def test_a_message_does_not_quote_a_whole_line() -> None:
    with pytest.raises(InputError) as caught:
        parse("a" * 50_000 + "{{ 1\n", "here")
    assert len(str(caught.value)) < 400
