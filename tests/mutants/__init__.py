"""Mistakes put into the cores on purpose, each with the tests that must notice: `python -m tests.mutants`."""
