"""What the recorded KV events of a run tell: which blocks of which prompts, and so when engines did what."""
