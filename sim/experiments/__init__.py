"""Many runs: compare, sweep, tune, size; the objects that a user holds."""
