"""The router's queue: who waits until a worker is less busy, and who goes next (Dynamo 1.5.0 and 1.6.1)."""
