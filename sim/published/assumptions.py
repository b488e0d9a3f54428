"""What a publication leaves open, moved one at a time to what else it could be: which rows hang on it?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import model_validator

from sim.base.errors import InputError
from sim.base.messages import did_you_mean
from sim.base.settings import Settings
from sim.base.units import COMPUTE, RATE, SIZE, TIME, TOKENS
from sim.published.csv_rows import Words
from sim.published.variants import Variant
from sim.scenario.scenario import Scenario

_UNITS = {
    unit: float(factor) for kind in (TIME, SIZE, RATE, TOKENS, COMPUTE) for unit, factor in kind.units.items()
} | {"": 1.0}


@dataclass(frozen=True, slots=True)
class Moved:
    """An assumption, moved to another value."""

    name: str
    key: str
    """The scenario's."""
    text: str
    """The other value, as it is set."""
    numbers: tuple[float, float] | None = None
    """The assumed and the other value, where there is something in between."""
    unit: str = ""
    """Of these numbers."""

    @property
    def variant(self) -> Variant:
        """The simulator with it."""
        return Variant(f"{self.name} {self.text}", (f"{self.key}={self.text}",))


class Assumption(Settings):
    """A row of `assumptions.csv`; fields are its columns."""

    name: str
    key: str
    """The scenario's."""
    kind: Literal["choice", "number", "coefficient"]
    """Choice: there is nothing between its values. Coefficient: a number whose other values are the ends of
    its range in its file."""
    unit: str = ""
    """Of a number and of what is in between: as settings have it."""
    values: Words = ()
    """What else it could be."""
    note: str = ""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if (self.kind == "coefficient") == bool(self.values):
            raise ValueError(
                f"values = {' '.join(self.values)}: a {self.kind} "
                + ("takes none, its range is in its file" if self.values else "needs some")
            )
        if self.unit not in _UNITS:
            raise ValueError(f"unit = {self.unit}: is none{did_you_mean(self.unit, _UNITS)}")
        if self.kind == "number":
            for text in self.values:
                try:
                    float(text)
                except ValueError:
                    raise ValueError(f"values = {text}: must be numbers, the unit beside them") from None
        return self

    def moved(self, scenarios: Sequence[Scenario]) -> Iterator[Moved]:
        """Yield the assumption with every other value.

        What is assumed now is what the first of these scenarios says that has the section; without one, there
        is nothing to move.

        Raises:
            InputError: the key is none of a scenario, or not a number where one is needed.

        """
        having = next((each for each in scenarios if _has_section(each, self.key)), None)
        if having is None:
            return
        if self.kind == "choice":
            for text in self.values:
                yield Moved(self.name, self.key, text)
            return
        scale = _UNITS[self.unit]
        if self.kind == "number":
            assumed, others = _number(having, self.key) / scale, [float(text) for text in self.values]
        else:
            known, ends = _coefficient(having, self.key)
            assumed, others = known / scale, [end / scale for end in ends]
        for other in others:
            yield Moved(self.name, self.key, f"{other:g}{self.unit}", (assumed, other), self.unit)


def moved(assumptions: Sequence[Assumption], scenarios: Sequence[Scenario]) -> Iterator[Moved]:
    """Yield every assumption with every other value; raises as `Assumption.moved`."""
    for assumption in assumptions:
        yield from assumption.moved(scenarios)


def _has_section(scenario: Scenario, key: str) -> bool:
    """Return whether the scenario has the section of a key, and it means something there."""
    section = key.partition(".")[0]
    if section not in Scenario.model_fields:
        raise InputError(
            f"key = {key}: no section of a scenario{did_you_mean(section, Scenario.model_fields)}"
        )
    if section == "disaggregation" and scenario.workers.count:
        return False
    return getattr(scenario, section) is not None


def _number(scenario: Scenario, key: str) -> float:
    node: object = scenario
    for part in key.split("."):
        fields = type(node).model_fields if isinstance(node, Settings) else {}
        if part not in fields:
            raise InputError(f"key = {key}: no such key of a scenario{did_you_mean(part, fields)}")
        node = getattr(node, part)
    if isinstance(node, bool) or not isinstance(node, int | float):
        raise InputError(f"key = {key}: is no number but {node!r} there; kind = choice has no number between")
    return float(node)


def _coefficient(scenario: Scenario, key: str) -> tuple[float, Sequence[float]]:
    """Return a coefficient and the ends of its range, none where no file has it."""
    times = scenario.coefficients()
    section, _, name = key.partition(".")
    parts: dict[str, Settings] = {"timing": times.step, "frontend": times.frontend}
    known = [f"{each}.{field}" for each, part in parts.items() for field in type(part).model_fields]
    if key not in known:
        raise InputError(f"key = {key}: no coefficient{did_you_mean(key, known)}")
    entries = times.file.entries if times.file else {}
    return getattr(parts[section], name), entries[name].range if name in entries else ()
