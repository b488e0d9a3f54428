"""Requests of one measured engine, run again in the simulator: how far predicted latencies are off."""
