"""Hugging Face configurations: which models they describe, and how to read each part of one."""
