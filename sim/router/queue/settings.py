"""The settings of the router's queue."""

from sim.base.settings import Settings


class QueueSettings(Settings):
    """Who waits at the router, and in which order they go."""
