"""One run of a scenario, and its result."""
