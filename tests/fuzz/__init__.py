"""Damaged and hostile input to everything that reads files: a message comes out, quickly, or else a result.

`python -m tests.fuzz [--seconds N] [TARGET ...]` runs it; what breaks a rule is kept in `tests/data/fuzz/`,
and is tried again by the tests.
"""
