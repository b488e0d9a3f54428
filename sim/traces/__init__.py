"""Traces as things to look at, cut down and hand on: what one holds, parts of it, files in other formats."""
