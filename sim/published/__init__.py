"""The published cluster, row by row: its printed numbers beside simulated ones."""
