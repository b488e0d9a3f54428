"""Coefficients and profiles that ship with the simulator, and the programs that make some of them."""
