"""Many runs as data: comparisons, sweeps, sizes, intervals, journal, folders."""
