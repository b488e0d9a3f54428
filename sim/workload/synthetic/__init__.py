"""Workloads that are described in a scenario and made from its seed: a file a kind."""
