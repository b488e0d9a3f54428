"""What a trace says happened when it was recorded: to compare with, never what a replay does."""

from typing import NamedTuple


class Recorded(NamedTuple):
    """What was measured of a request; None where the trace does not say."""

    service_s: float | None = None
    """From sending to the end of the answer."""
    ttft_s: float | None = None
    cached_tokens: int | None = None
    """As whoever recorded it counts them: a provider's bill, a router's estimate, an engine's own."""
    queue_depth: int | None = None
    """Requests that waited at its worker when it was chosen."""
    prefill_worker: int | None = None
    decode_worker: int | None = None


NOTHING = Recorded()
