"""What clusters cost: GPU hours and, with a price of one, money."""

import re
from math import isfinite
from typing import NamedTuple, Self

from sim.base.errors import InputError

_PRICE = re.compile(r"(?P<before>[^\d\s.+-]*)\s*(?P<amount>\d+(?:\.\d+)?|\.\d+)\s*(?P<after>[^\d\s.+-]*)")
_HOURS = 24
_WHOLE_FROM = 1000


class Price(NamedTuple):
    """Money for a GPU hour, in a currency that stands before or behind amounts, if it has any."""

    amount: float
    before: str = ""
    after: str = ""

    @classmethod
    def read(cls, text: str, option: str) -> Self:
        """Return the price of a text such as "2.5", "2.50 EUR" or "$2.5".

        Raises:
            InputError: it is written otherwise.

        """
        match = _PRICE.fullmatch(text.strip())
        found = match and cls(float(match["amount"]), match["before"], match["after"])
        if not found or (found.before and found.after) or not isfinite(found.amount):
            raise InputError(
                f'{option} {text}: write a number, with a currency or without: 2.5, "2.50 EUR", $2.5'
            )
        return found

    def a_day(self, gpus: int) -> float:
        """Return what so many GPUs cost that are there all day."""
        return self.amount * gpus * _HOURS

    def show(self, money: float | None) -> str:
        """Return an amount: "$412", "3.27 EUR"; a dash if there is none."""
        if money is None:
            return "-"
        number = f"{money:,.0f}" if money >= _WHOLE_FROM else f"{money:,.2f}"
        before = f"{self.before} " if self.before.isalpha() else self.before
        return f"{before}{number}{' ' if self.after else ''}{self.after}"


def a_thousand(gpu_hours: float | None, requests: float | None) -> float | None:
    """Return the GPU hours of a thousand requests."""
    return None if gpu_hours is None or not requests else gpu_hours / requests * 1000
