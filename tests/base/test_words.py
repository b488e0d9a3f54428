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
