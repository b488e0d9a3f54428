"""Faults of the modelled system: what breaks when, what becomes of requests, and what that cost."""
