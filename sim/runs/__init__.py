"""Many runs as data: comparisons, sweeps, sizes, spreads, journal, folders."""
