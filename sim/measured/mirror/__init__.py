"""The scenario that mirrors a running cluster: what its command lines, metrics and logs tell of one."""
