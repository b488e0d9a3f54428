"""One page that shows a run: HTML with charts, a map of each session, and what routing decisions cost."""
