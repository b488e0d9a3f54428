"""What a person reads of a fit to a published cluster."""

from rich.console import Group, RenderableType
from rich.text import Text

from sim.hardware.coefficient_file import CoefficientFile
from sim.hardware.coefficient_toml import written
from sim.published.fit import Fit, row_loss
from sim.published.scores import RowScore
from sim.published.settings import ClusterSettings
from sim.published.show_printed import where
from sim.published.show_rows import band, quantity
from sim.show.text.page_parts import table


def render(fit: Fit, prior: CoefficientFile, settings: ClusterSettings) -> RenderableType:
    """Return coefficients and rows, before and after, ready to print."""
    coefficients = table("Coefficient", "prior", "fitted", "sigma", "range")
    for name in fit.names:
        known = prior.entries[name]
        coefficients.add_row(
            name,
            written(known.value),
            written(fit.values[name]),
            written(fit.sigmas[name]),
            " to ".join(map(written, known.range)),
        )
    rows = table("Fitted row", "target", "where", "prior", "loss", "fitted", "loss")
    for before, after in zip(fit.prior.rows, fit.best.rows, strict=True):
        rows.add_row(
            after.target.name,
            band(after.target),
            where(settings, after),
            *_numbers(before),
            *_numbers(after),
        )
    total = f"Loss {fit.prior.loss:.3g} with the priors, {fit.best.loss:.3g} fitted"
    return Group(coefficients, Text(), rows, Text(), Text(f"{total}; {fit.evaluations} evaluations"))


def _numbers(row: RowScore) -> tuple[str, str]:
    return quantity(row.target, row.deciding.median), f"{row_loss(row):.3g}"
