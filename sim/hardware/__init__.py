"""Models, GPUs, memory, and how long a step takes."""
