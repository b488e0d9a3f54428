"""Prices and what clusters cost."""

import pytest

from sim.base.errors import InputError
from sim.runs.cost import Price, a_thousand


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2.5", "3.27"),
        ("$2.5", "$3.27"),
        ("2.50 EUR", "3.27 EUR"),
        ("EUR 2.50", "EUR 3.27"),
        ("2.5€", "3.27 €"),
    ],
)
def test_amounts_are_shown_in_the_currency_of_the_price(text: str, shown: str) -> None:
    price = Price.read(text, "--price-per-gpu-hour")
    assert price.amount == 2.5
    assert price.show(3.2651) == shown


def test_a_day_is_24_hours_of_all_gpus() -> None:
    assert Price(2.5).a_day(8) == 480.0
    assert Price(2.5, "$").show(12_345.6) == "$12,346"
    assert Price(2.5).show(None) == "-"
    assert (a_thousand(0.4, 10), a_thousand(0.4, 0), a_thousand(None, 10)) == (40.0, None, None)


@pytest.mark.parametrize("text", ["", "much", "-2.5", "$2.5 EUR", "1e9", "2,5", "nan"])
def test_what_is_no_price_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--price-per-gpu-hour"):
        Price.read(text, "--price-per-gpu-hour")
