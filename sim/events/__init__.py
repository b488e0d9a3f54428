"""Simulated time: the clock, channels with delay, queues that are looked at late."""
