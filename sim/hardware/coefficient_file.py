"""The files of `calibration/`: coefficients with their ranges and sources, and what they were made of."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, ValidationError, model_validator

from sim.base.bounds import Count, CountOrZero, Weight
from sim.base.errors import InputError
from sim.base.messages import first_problem
from sim.base.settings import Settings
from sim.base.shipped import parse_toml, read_text
from sim.base.uncertainty import Uncertain
from sim.base.units import Seconds
from sim.hardware.dense_table import DenseTable
from sim.hardware.parallel import ONE_GPU, Parallel
from sim.hardware.step_time import StepCoefficients, StepLaw


class FrontendCoefficients(Settings):
    """Time in front of and behind the engine."""

    alpha_in_s: Seconds = 18e-3
    """From the client to the routing choice, for each request."""
    alpha_in_s_per_token: Seconds = 1e-6
    """The same, for each token of the prompt: tokenising."""
    alpha_out_s: Seconds = 1e-3
    """From the engine's output back to the client."""


class Coefficient(Settings):
    """One entry of a coefficient file: seconds, and a plain number for `smooth_max_p` and `tile_tokens`."""

    value: Seconds
    """What a run takes unless it draws."""
    range: tuple[Seconds, Seconds]
    """Least and greatest value it may be moved to."""
    sigma: Seconds | None = Field(default=None, gt=0)
    """Spread of one standard deviation, where known."""
    source: str
    """Where the value comes from."""

    @model_validator(mode="after")
    def _in_range(self) -> Self:
        low, high = self.range
        if not low <= self.value <= high:
            raise ValueError(f"value {self.value:g} lies outside of its range, {low:g} to {high:g}")
        return self

    @property
    def uncertain(self) -> Uncertain:
        """What draws are taken from."""
        return Uncertain(self.value, *self.range, self.sigma)


class DataFile(Settings):
    """A file that coefficients were fitted to."""

    file: str
    """Its name."""
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    """Fingerprint of the content, of the unpacked one if the file is gzipped."""
    rows: CountOrZero
    """Rows that were used, for the fit or to test it."""


class FittedRun(Settings):
    """A run of a data file that coefficients were fitted to."""

    run: str
    """Its name in the file."""
    arrivals: str
    """Fingerprint of when its requests were meant to be sent: a run with the same is a repeat."""


class HeldOut(Settings):
    """How well a fit hit data that it had not seen."""

    quantity: str
    """What was predicted."""
    n: Count
    """Values."""
    mape: Weight
    """Mean absolute relative error: 0.05 is 5 %."""
    median: Weight | None = None
    """Median absolute relative error."""
    largest: Weight | None = None
    """Largest absolute relative error."""


class ParallelSizes(Settings):
    """The parallel sizes of the engine that coefficients are of; see `sim.hardware.parallel`."""

    tensor: Count = 1
    pipeline: Count = 1
    data: Count = 1
    expert: bool = False

    @classmethod
    def of(cls, parallel: Parallel) -> Self:
        """Return the sizes of an engine."""
        return cls.model_validate(parallel._asdict())

    @property
    def parallel(self) -> Parallel:
        """The sizes as the rules take them."""
        return Parallel(self.tensor, self.pipeline, self.data, self.expert)


def file_name(model: str, gpu: str, parallel: Parallel = ONE_GPU) -> str:
    """Return the name of the file of a model on a GPU, without .toml: "qwen3-32b-fp8_h100-80gb-tp2"."""
    sizes = {"tp": parallel.tensor, "pp": parallel.pipeline, "dp": parallel.data}
    parts = [f"-{word}{size}" for word, size in sizes.items() if size > 1]
    return f"{model}_{gpu}{''.join(parts)}{'-ep' if parallel.expert else ''}"


class CoefficientFile(Settings):
    """A file of `calibration/`."""

    model: str
    gpu: str
    parallel: ParallelSizes = ParallelSizes()
    """Of the engine; one GPU unless said otherwise."""
    formats: Mapping[str, str] = {}
    """Number formats, in the words of whoever was asked: "weights", "experts", "kv"."""
    origin: Literal["fitted", "prior", "aiconfigurator"]
    """To measured steps or requests, put together, or from the tables of NVIDIA's AIConfigurator."""
    summary: str
    """What the coefficients rest on, in a line."""
    step: dict[str, Coefficient]
    """By name of the field of `StepCoefficients`."""
    frontend: dict[str, Coefficient]
    """By name of the field of `FrontendCoefficients`."""
    dense: DenseTable | None = None
    """Factors on the dense part, where a smooth maximum does not fit it."""
    data: tuple[DataFile, ...] = ()
    """What they were fitted to."""
    fitted_runs: tuple[FittedRun, ...] = ()
    """The runs of it that were fitted, where it has several; the others test the fit."""
    held_out: tuple[HeldOut, ...] = ()
    """Errors of the fit on what it was not fitted to."""
    draws: Mapping[str, tuple[Seconds, ...]] = {}
    """Joint draws of coefficients that are known together only, such as the fits to resampled data: a column
    for each by its name, in seconds, a row for each draw."""

    @model_validator(mode="after")
    def _rows_of_draws(self) -> Self:
        columns = {len(column) for column in self.draws.values()}
        if len(columns) > 1 or 0 in columns:
            raise ValueError("draws: the columns must be of one length, 1 or more")
        unknown = set(self.draws) - set(self.entries)
        if unknown:
            raise ValueError(f"draws: {', '.join(sorted(unknown))}: no such coefficient")
        return self

    @property
    def entries(self) -> Mapping[str, Coefficient]:
        """All coefficients by name."""
        return {**self.step, **self.frontend}

    @property
    def values(self) -> dict[str, float]:
        """The value of every coefficient."""
        return {name: entry.value for name, entry in self.entries.items()}

    def drawn(self, k: int) -> dict[str, float]:
        """Return draw `k`, from 1 on, of every coefficient.

        Those with joint draws take a row of that table, the first again after the last; the others are drawn
        one by one over their ranges (`sim.base.uncertainty`).
        """
        alone = {name: entry.uncertain.drawn(name, k) for name, entry in self.entries.items()}
        return alone | {name: column[(k - 1) % len(column)] for name, column in self.draws.items()}

    @property
    def law(self) -> StepLaw:
        """The step-time law of the values."""
        return StepLaw(self.step_coefficients(self.values), self.dense)

    def step_coefficients(self, values: Mapping[str, float]) -> StepCoefficients:
        """Return those of the step-time law; raises ValidationError if one is missing or impossible."""
        return StepCoefficients.model_validate({name: values[name] for name in self.step})

    def frontend_coefficients(self, values: Mapping[str, float]) -> FrontendCoefficients:
        """Return those of the front door; raises ValidationError if one is missing or impossible."""
        return FrontendCoefficients.model_validate({name: values[name] for name in self.frontend})


def read_coefficient_file(path: Path) -> CoefficientFile:
    """Return a file in the format of `calibration/`.

    Raises:
        InputError: the file cannot be read, an entry is unknown or missing, or a value is wrong.

    """
    return checked(path, read_text(path))


@lru_cache(maxsize=16)
def checked(path: Path, text: str) -> CoefficientFile:
    """Return what the text of a file says; `path` is for messages. Raises as `read_coefficient_file`.

    Kept: checks take longer than a short run, and each run asks twice.
    """
    try:
        content = CoefficientFile.model_validate(parse_toml(path, text))
        content.frontend_coefficients(content.values)
        rows = len(next(iter(content.draws.values()), ()))
        for values in (content.values, *map(content.drawn, range(1, rows + 1))):
            content.step_coefficients(values)
    except ValidationError as error:
        raise InputError(f"{path}: {first_problem(error)}") from error
    return content
