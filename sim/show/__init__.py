"""Views of one run and of many."""
