"""What a person reads of the releases whose rules hold."""

from sim.runs.comparison import Comparison
from sim.runs.versions import KEY, same_under_all_rules

DIFFERENCES = (
    "requests carry overrides of the router's weights (1.6 heeds none of credit, scale and temperature), or "
    "the router's queue has several policy classes (who is next after a request that did not wait)"
)
"""When Dynamo 1.6.1 routes what comes through its frontend otherwise than 1.5.0, as measured on both."""


def versions_note(comparison: Comparison) -> list[str]:
    """Return what the rules of other releases do to this traffic, where several were tried."""
    same = same_under_all_rules(comparison)
    if same is None:
        return []
    texts = " and ".join(comparison.written(KEY, value) for value in comparison.values_of(KEY))
    where = f"they differ where {DIFFERENCES}"
    if same:
        return [
            f"{KEY} {texts}: every number is equal, these rule sets route this traffic alike; {where}: "
            "nothing of the kind acts here"
        ]
    return [f"{KEY} {texts}: these rule sets do not route this traffic alike; {where}"]
