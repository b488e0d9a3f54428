"""All that has a clock: client, front door, workers, transfers, recorder."""
