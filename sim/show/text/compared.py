"""What a person reads after a comparison, whatever was compared."""

from collections.abc import Sequence

from rich.console import RenderableType

from sim.results.quantities import USUAL, select_or
from sim.runs.comparison import Comparison
from sim.runs.policies import policies_of
from sim.runs.rule_effects import is_explained
from sim.show.text.comparison import render_comparison
from sim.show.text.moved import SHOWN, render_moved
from sim.show.text.policies import render_policies


def render_compared(comparison: Comparison, metrics: Sequence[str]) -> RenderableType:
    """Return these numbers of a comparison, ready to print: policies in lines, else scenarios in columns.

    Of releases that are explained it is what moved them, and in place of the usual numbers those for that.
    """
    if is_explained(comparison):
        return render_moved(comparison, _explained(comparison, metrics))
    policies = policies_of(comparison)
    if policies:
        return render_policies(comparison, policies, metrics)
    return render_comparison(comparison, metrics)


def _explained(comparison: Comparison, metrics: Sequence[str]) -> Sequence[str]:
    usual = list(metrics) == select_or((), USUAL, comparison.metrics)
    return select_or((), SHOWN, comparison.metrics) if usual else metrics
