"""Session affinity: later requests of a session go where its first one went (Dynamo 1.5.0)."""

from sim.base.settings import Settings


class AffinitySettings(Settings):
    """Whether and how a session stays with its worker."""
