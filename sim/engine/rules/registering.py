"""Up to which token a processed output makes blocks findable, with asynchronous scheduling.

0.28.0: the computed tokens but for those being generated. 0.33.0: but for all in flight, which is the same
unless drafts are checked.
"""

from sim.engine.active import ActiveRequest
from sim.engine.rule_set import Version


class Registering:
    """vLLM 0.28.0."""

    __slots__ = ()

    def settled(self, request: ActiveRequest) -> int:
        """Return the tokens of a running request whose full blocks are findable now."""
        return request.computed - request.placeholders


class RegisteringProcessed(Registering):
    """vLLM 0.33.0."""

    __slots__ = ()

    def settled(self, request: ActiveRequest) -> int:
        """Return the tokens of a running request whose full blocks are findable now."""
        return request.computed - request.in_flight


def registering(version: Version) -> Registering:
    """Return the rule of a release."""
    return Registering() if version == "0.28" else RegisteringProcessed()
