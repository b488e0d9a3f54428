"""Quantities as people write them: "64GiB", "100Gbps", "250ms", "213K", or a plain number in base units.

The pydantic types below accept both and hold the plain number: seconds, bytes, bytes per second, tokens,
floating-point operations per second. `sim.base.words` goes the other way, for tables and messages.
"""

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from sim.base.bounds import LONGEST_S, MOST
from sim.base.errors import shown

_NUMBER_AND_UNIT = re.compile(r"\s*([+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(\D\S*)?\s*")


@dataclass(frozen=True, slots=True)
class Quantity:
    """One kind of quantity: its name, its base unit, and the units it may be written in."""

    name: str
    base: str
    units: Mapping[str, Decimal]
    """How many base units one of each is."""
    examples: tuple[str, ...]
    most: float
    """In base units."""
    whole: bool = False
    """Whether the base unit cannot be divided; a written fraction ("28.88GiB") is rounded to the nearest."""

    def parse(self, value: object) -> int | float:
        """Return `value` in base units.

        Decimal arithmetic keeps "13.2ms" equal to the literal 0.0132.

        Raises:
            ValueError: not a number, an unknown unit, negative or not finite; says what is allowed.

        """
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise self._refusal(value)
        if not isinstance(value, str):
            return self._checked(value, value)
        match = _NUMBER_AND_UNIT.fullmatch(value)
        factor = self.units.get(match[2], None) if match and match[2] else Decimal(1)
        if match is None or factor is None:
            raise self._refusal(value)
        number = Decimal(match[1])
        if number.adjusted() > sys.float_info.max_10_exp:
            raise self._refusal(value)
        amount = number * factor
        return self._checked(round(amount) if self.whole and match[2] else float(amount), value)

    def _checked(self, amount: int | float, written: object) -> int | float:
        if amount > self.most:
            raise self._refusal(written, f"must be less than or equal to {self.most:.0f} {self.base}; ")
        if not 0 <= amount <= self.most or (self.whole and amount != int(amount)):
            raise self._refusal(written)
        return int(amount) if self.whole else float(amount)

    def _refusal(self, value: object, why: str = "") -> ValueError:
        kind = "a whole number" if self.whole else "a number"
        examples = ", ".join(f'"{example}"' for example in self.examples)
        return ValueError(
            f"{shown(value, 500)} is not a {self.name}: {why}give {kind} of {self.base}, zero or more, "
            f"or a string like {examples}"
        )

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of what `parse` accepts: a number or a string with a unit."""
        units = "|".join(re.escape(unit) for unit in self.units)
        number = {"type": "integer" if self.whole else "number", "minimum": 0, "maximum": self.most}
        text = {
            "type": "string",
            "pattern": rf"^\s*\+?[0-9][0-9_]*\.?[0-9]*([eE][+-]?[0-9]+)?\s*({units})?\s*$",
        }
        return {"anyOf": [number, text], "examples": list(self.examples)}


def _units(*factors: tuple[str, str]) -> dict[str, Decimal]:
    return {unit: Decimal(factor) for unit, factor in factors}


_BINARY = {prefix + "i": Decimal(1024) ** power for power, prefix in enumerate("KMGT", start=1)}
_DECIMAL = {"": Decimal(1)} | {
    prefix: Decimal(1000) ** power for power, prefix in enumerate("kMGTP", start=1)
}
_BYTE_UNITS = {prefix + "B": factor for prefix, factor in (_DECIMAL | _BINARY).items()} | {
    "KB": Decimal(1000)
}

TIME = Quantity(
    "time",
    "seconds",
    _units(
        *(("s", "1"), ("ms", "1e-3"), ("us", "1e-6"), ("µs", "1e-6"), ("μs", "1e-6"), ("ns", "1e-9")),
        *(("ps", "1e-12"), ("min", "60"), ("h", "3600"), ("d", "86400")),
    ),
    ("250ms", "49us", "750ps", "1.5s", "2min"),
    LONGEST_S,
)
SIZE = Quantity("size", "bytes", _BYTE_UNITS, ("64GiB", "25MiB", "64GB", "32KiB"), 2.0**70, whole=True)
RATE = Quantity(
    "data rate",
    "bytes per second",
    {unit + per: factor for unit, factor in _BYTE_UNITS.items() for per in ("/s", "ps")}
    | {prefix + bit: factor / 8 for prefix, factor in _DECIMAL.items() for bit in ("bps", "bit/s")},
    ("55GB/s", "100Gbps", "3.35TB/s", "50GiB/s"),
    1e18,
)
TOKENS = Quantity(
    "number of tokens",
    "tokens",
    _units(("K", "1e3"), ("k", "1e3"), ("M", "1e6")),
    ("213K", "1M"),
    MOST,
    whole=True,
)
COMPUTE = Quantity(
    "compute rate",
    "operations per second",
    {prefix + unit: factor for prefix, factor in _DECIMAL.items() for unit in ("FLOP/s", "FLOPS") if prefix},
    ("989TFLOP/s", "1.98PFLOP/s"),
    1e24,
)

Seconds = Annotated[float, BeforeValidator(TIME.parse), WithJsonSchema(TIME.json_schema())]
Bytes = Annotated[int, BeforeValidator(SIZE.parse), WithJsonSchema(SIZE.json_schema())]
BytesPerSecond = Annotated[float, BeforeValidator(RATE.parse), WithJsonSchema(RATE.json_schema())]
Tokens = Annotated[int, BeforeValidator(TOKENS.parse), WithJsonSchema(TOKENS.json_schema())]
FlopPerSecond = Annotated[float, BeforeValidator(COMPUTE.parse), WithJsonSchema(COMPUTE.json_schema())]
