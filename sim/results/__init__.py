"""What a run leaves behind: the books, tables, metrics and summaries."""
