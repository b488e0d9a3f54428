"""Pictures of calibrations: steps as the law has them over steps as they were timed, by their size."""

from collections.abc import Iterator, Mapping, Sequence
from math import floor, log10
from typing import TYPE_CHECKING

import numpy as np

from sim.base.words import exactly, format_seconds
from sim.calibration.kernel_file import KernelCalibration, KernelFit
from sim.hardware.coefficient_file import CoefficientFile
from sim.runs.spread import band
from sim.show.pictures.ratios import Ratio, plots_of_ratios

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plots_of_steps(
    content: CoefficientFile, found: Mapping[str, Sequence[tuple[int, float]]], of: str
) -> "list[Figure]":
    """Return the figures of a law: a line for each power of two of tokens, a dot for each step.

    Args:
        content: the law's file.
        found: tokens and predicted / timed of each step, by what kind of step it is.
        of: which steps those are: "batches it is fitted to".

    """
    sizes: dict[int, list[int]] = {}
    for tokens in sorted({tokens for steps in found.values() for tokens, _ in steps}):
        sizes.setdefault(tokens.bit_length(), []).append(tokens)
    ratios = [
        Ratio(_range(alike), kind, ratio)
        for alike in sizes.values()
        for kind, steps in found.items()
        for tokens, ratio in steps
        if tokens in alike
    ]
    return plots_of_ratios(ratios, f"{content.model} on {content.gpu}: {of}, by tokens of the step")


def plots_of_kernels(found: KernelCalibration) -> "list[Figure]":
    """Return the figures of kernels: a line for each and each power of ten of its time, 95 % of its calls."""
    ratios = [ratio for one in found.fits for ratio in _of_kernel(one)]
    title = f"{found.content.model} on {found.content.gpu}: calls of kernels by their time, median and 95 %"
    return plots_of_ratios(ratios, title)


def _of_kernel(one: KernelFit) -> Iterator[Ratio]:
    kernel = one.kernel
    ratios = np.exp(kernel.errors(one.rates))
    decades = np.array([floor(log10(time_s)) for time_s in kernel.measured_s])
    own = np.isin(kernel.shape, list(kernel.own))
    for decade in sorted(set(decades.tolist())):
        for series, belongs in (("other shapes", ~own), ("the model's own shapes", own)):
            alike = ratios[(decades == decade) & belongs].tolist()
            if alike:
                middle = band(alike)
                name = f"{kernel.name}, from {format_seconds(10.0**decade)} on"
                yield Ratio(name, series, middle.middle or 0.0, middle.low, middle.high)


def _range(sizes: Sequence[int]) -> str:
    """Return "512 tokens" or "516 to 1,000 tokens"."""
    least, most = sizes[0], sizes[-1]
    return exactly(most, "token") if least == most else f"{least:,} to {exactly(most, 'token')}"
