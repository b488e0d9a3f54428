"""Many runs: what is to be run, where it runs, and what is kept of those that finished."""
