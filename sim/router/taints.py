"""What preferred taints make of a rank's cost (Dynamo 1.5.0)."""

from collections.abc import Mapping, Set
from math import exp, tanh
from struct import pack, unpack

from sim.base.sums import added


def taint_factor(preferred: Mapping[str, float], taints: Set[str]) -> float:
    """Return the factor on the cost of a rank that has these taints; weights above 0 make it cheaper."""
    # Dynamo keeps the weights as 32-bit floats and adds them as 64-bit ones.
    weights = [unpack("f", pack("f", weight))[0] for taint, weight in preferred.items() if taint in taints]
    return exp(-tanh(added(weights)))
