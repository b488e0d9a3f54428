"""A measured run, replayed at its recorded times."""
