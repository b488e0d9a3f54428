"""What a real cluster leaves behind: readers, a file a format, and what they say together about one run."""
