"""What a person reads after a comparison, whatever was compared."""

from collections.abc import Sequence

from rich.console import RenderableType

from sim.runs.comparison import Comparison
from sim.runs.policies import policies_of
from sim.show.text.comparison import render_comparison
from sim.show.text.policies import render_policies


def render_compared(comparison: Comparison, metrics: Sequence[str]) -> RenderableType:
    """Return these numbers of a comparison, ready to print: policies in lines, else scenarios in columns."""
    policies = policies_of(comparison)
    if policies:
        return render_policies(comparison, policies, metrics)
    return render_comparison(comparison, metrics)
