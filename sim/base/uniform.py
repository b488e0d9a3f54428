"""Random numbers by purpose and request.

A draw is a hash of (seed, purpose, request, k), never the next item of a stream. One draw more or less
somewhere therefore shifts no other draw (common random numbers between the points of a sweep), and results
depend neither on the NumPy version nor on PYTHONHASHSEED.
"""

from hashlib import blake2b


def draw_bits(seed: int, purpose: str, request: int, k: int = 0) -> int:
    """Return 64 uniform bits for this key."""
    key = f"{seed}/{purpose}/{request}/{k}".encode()
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "little")


def uniform(seed: int, purpose: str, request: int, k: int = 0) -> float:
    """Return a uniform number in [0, 1) for this key, with 53 random bits."""
    return (draw_bits(seed, purpose, request, k) >> 11) * 2.0**-53
