"""Several front ends, each with a router of its own (Dynamo 1.5.0)."""

from sim.base.settings import Settings


class ReplicaSettings(Settings):
    """How many front ends there are, and what they tell each other."""
