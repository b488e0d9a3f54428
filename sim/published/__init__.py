"""Published clusters, row by row: their printed numbers beside simulated ones."""
