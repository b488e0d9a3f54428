"""vLLM without a clock: scheduler, plans, requests, connectors, runs of decoding."""
