import pytest

from sim.base import words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0, "0 s"),
        (0.0132, "13.2 ms"),
        (0.00002, "20.0 us"),
        (3e-9, "0.00300 us"),
        (0.9996, "1.00 s"),
        (11.0, "11.0 s"),
        (114.6, "115 s"),
        (1233.5, "1,234 s"),
        (999.6, "1,000 s"),
    ],
)
def test_seconds(value, text):
    assert words.seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0, "0"),
        (99_999, "99,999"),
        (100_000, "100.0K"),
        (213_440, "213.4K"),
        (999_960, "1.000M"),
        (119_301_220, "119.3M"),
        (5e9, "5.000G"),
        (4.5e13, "45,000G"),
    ],
)
def test_count(value, text):
    assert words.count(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0.0, "0 %"), (0.00114, "0.114 %"), (0.5, "50.0 %"), (0.9996, "100 %"), (28.4, "2,840 %")],
)
def test_percent(value, text):
    assert words.percent(value) == text


@pytest.mark.parametrize(("value", "text"), [(None, "-"), (0, "0"), (6.178, "6.18"), (1234.5, "1,234")])
def test_number(value, text):
    assert words.number(value) == text


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, ""), (1.0, "████"), (0.5, "██"), (0.28125, "█▏"), (1e-9, "▏"), (0.999, "████")]
)
def test_bar(share, text):
    assert words.bar(share, 4) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (1.2, 3.4, "1.20 to 3.40 s"),
        (0.95, 1.1, "950 ms to 1.10 s"),
        (2.0, 2.0001, "2.00 s"),
        (None, 1.0, "-"),
        (1.0, None, "-"),
    ],
)
def test_between(low, high, text):
    assert words.between(low, high, words.seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0132, "13.2 ms"),
        (49e-6, "49 us"),
        (750e-12, "750 ps"),
        (0.0, "0 s"),
        (77.0, "77 s"),
        (1234.4, "1,234 s"),
        (0.9996, "1 s"),
        (999.6, "1,000 s"),
        (-0.002, "-2 ms"),
    ],
)
def test_format_seconds(seconds: float, text: str) -> None:
    assert words.format_seconds(seconds) == text


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [(0, "0 B"), (1023, "1,023 B"), (32768, "32 KiB"), (39.93 * 2**30, "39.93 GiB"), (2**40, "1 TiB")],
)
def test_format_bytes(n_bytes: float, text: str) -> None:
    assert words.format_bytes(n_bytes) == text


def test_format_with_fewer_digits_never_shows_1024_of_a_unit() -> None:
    assert words.format_bytes(6.573 * 2**30, 1) == "6.6 GiB"
    assert words.format_bytes(2**30 - 1, 0) == "1 GiB"


def test_a_noun_behind_a_number() -> None:
    assert [words.plural(n, "request") for n in (0, 1, 2)] == ["requests", "request", "requests"]
    assert [words.plural(2, noun) for noun in ("policy", "day", "batch", "class")] == [
        "policies",
        "days",
        "batches",
        "classes",
    ]


def test_how_many_there_are() -> None:
    assert words.counted(1, "request") == "1 request"
    assert words.counted(213_412, "prompt token") == "213.4K prompt tokens"
    assert words.exactly(213_412, "prompt token") == "213,412 prompt tokens"
    assert words.exactly(0, "run") == "0 runs"


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([0], "seed 0"),
        ([0, 1], "seeds 0 and 1"),
        ([3, 4, 5], "seeds 3 to 5"),
        (range(100), "seeds 0 to 99"),
        ([0, 3, 5], "seeds 0, 3 and 5"),
        ([2, 1, 0], "seeds 2, 1 and 0"),
    ],
)
def test_which_of_several(numbers, text):
    assert words.numbered("seed", numbers) == text


@pytest.mark.parametrize(
    ("time_s", "text"),
    [
        (0.0, "about 1 s"),
        (7.4, "about 7 s"),
        (41.0, "about 40 s"),
        (54.9, "about 55 s"),
        (55.0, "about 1 min"),
        (170.0, "about 3 min"),
        (3599.0, "about 1 h"),
        (7810.0, "about 2 h 10 min"),
        (172_799.0, "about 2 d"),
        (97_200.0, "about 1 d 3 h"),
    ],
)
def test_a_guess_of_a_time(time_s, text):
    assert words.about(time_s) == text


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (None, "-"),
        (0, "0 B"),
        (512, "512 B"),
        (999.6, "1,000 B"),
        (205_123, "205.1 KB"),
        (62.97e9, "62.97 GB"),
        (999_960, "1.000 MB"),
        (5e15, "5,000 TB"),
    ],
)
def test_bytes_that_were_sent(n_bytes, text):
    assert words.data(n_bytes) == text
