"""A file of a measured run, a format each."""
