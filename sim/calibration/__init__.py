"""Coefficients from measurements: what is fitted to what, how well it holds on the rest, how sure it is."""
