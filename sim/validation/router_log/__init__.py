"""A router's log beside the decisions made anew."""
