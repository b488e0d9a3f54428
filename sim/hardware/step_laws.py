"""The step laws by name, as values that give each worker the law of its steps."""

from collections.abc import Callable
from typing import NamedTuple

from sim.hardware.dense_table import DenseTable
from sim.hardware.mocker_law import SUMMARY, MockerLaw, Stage
from sim.hardware.step_time import StepCoefficients, StepLaw, StepTime


class TimedWorker(NamedTuple):
    """What a law may know of the worker whose steps it times."""

    stage: Stage
    pool_tokens: int
    """What its KV pool holds."""
    max_batched_tokens: int
    """Token budget of its steps."""


LawOf = Callable[[TimedWorker], StepTime]


class Law(NamedTuple):
    """A law of its own, without coefficients."""

    of: LawOf
    summary: str
    """What its times rest on: belongs beside every result."""


LAWS = {
    "dynamo-mocker": Law(lambda worker: MockerLaw(*worker), SUMMARY),
}
"""Laws that take the place of the one of coefficients, by their names in `timing.preset`."""


def laws(name: str, coefficients: StepCoefficients, table: DenseTable | None = None) -> LawOf:
    """Return what times each worker: the law of this name, else the one of coefficients, the same for all."""
    if name in LAWS:
        return LAWS[name].of
    law = StepLaw(coefficients, table)
    return lambda worker: law
