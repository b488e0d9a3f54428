"""An engine and its time: what runs next, how long it takes, what is copied, and the process around it."""
