"""Busy thresholds: workers that get no request, and requests that are refused (Dynamo 1.5.0)."""

from sim.base.settings import Settings


class BusySettings(Settings):
    """Above which load a worker is left out."""
