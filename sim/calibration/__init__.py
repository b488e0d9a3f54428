"""Coefficients fitted to what was measured."""
