"""The picture of a fit to a published cluster: rows as simulated over what is printed, before and after."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sim.published.fit import Fit
from sim.published.scores import RowScore
from sim.published.settings import ClusterSettings
from sim.published.targets import Band
from sim.show.pictures.ratios import Ratio, plots_of_ratios

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plots_of_fit(fit: Fit, settings: ClusterSettings) -> "list[Figure]":
    """Return the figures: a line for each fitted row; of a range, the nearest number of it."""
    ratios = [
        ratio
        for series, rows in (("prior", fit.prior.rows), ("fitted", fit.best.rows))
        for ratio in _of_rows(rows, series)
    ]
    return plots_of_ratios(
        ratios, f"{settings.name}: fitted rows, simulated over printed; of a range, over its nearest number"
    )


def _of_rows(rows: Sequence[RowScore], series: str) -> Iterator[Ratio]:
    for row in rows:
        target, simulated = row.target, row.deciding.median
        if simulated is None:
            continue
        if target.combine == "difference":
            simulated = abs(simulated)
        printed = target.one_number if target.one_number is not None else _nearest(simulated, target.band)
        if printed:
            yield Ratio(target.name, series, simulated / printed)


def _nearest(value: float, band: Band) -> float:
    """Return what of a band is nearest to a number: where it is inside, the number."""
    low, high = band
    if low is not None and value < low:
        return low
    return high if high is not None and value > high else value
