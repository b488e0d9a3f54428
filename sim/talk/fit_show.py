"""What a person reads of a fit to the talk."""

from rich.console import Group, RenderableType
from rich.text import Text

from sim.calibration.coefficient_toml import written
from sim.coefficient_file import CoefficientFile
from sim.results.summary import table
from sim.talk.fit import Fit, row_loss
from sim.talk.show import band, place, quantity


def render(fit: Fit, prior: CoefficientFile) -> RenderableType:
    """Return coefficients and rows, before and after, ready to print."""
    coefficients = table("Coefficient", "prior", "fitted", "sigma, others held", "range")
    for name in fit.names:
        known = prior.entries[name]
        coefficients.add_row(
            name,
            written(known.value),
            written(fit.values[name]),
            written(fit.sigmas[name]),
            " to ".join(map(written, known.range)),
        )
    rows = table("Fitted row", "target", "prior", "fitted", "loss")
    for before, after in zip(fit.prior.rows, fit.best.rows, strict=True):
        rows.add_row(
            after.target.id,
            band(after.target),
            *(
                f"{quantity(row.target, row.deciding.median)} at {place(row.deciding)}"
                for row in (before, after)
            ),
            f"{row_loss(before):.3g} to {row_loss(after):.3g}",
        )
    total = f"Loss {fit.prior.loss:.3g} with the priors, {fit.best.loss:.3g} fitted"
    return Group(coefficients, Text(), rows, Text(), Text(f"{total}; {fit.evaluations} evaluations"))
