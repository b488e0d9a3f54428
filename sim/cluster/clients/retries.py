"""Clients that send a refused request again (`max_retries` of OpenAI's and Anthropic's Python clients).

Both wait 0.5 s, then 1 s, and so on up to 8 s, each time less up to a quarter of it by chance; a Retry-After
of up to 60 s is followed instead (openai-python, `_calculate_retry_timeout` of `_base_client.py`; the jitter
is that of pull request 2566). They do so after 408, 409, 429 and every 5xx, such as 503 and 529, and where no
connection was made; never once an answer has begun.
"""

from collections.abc import Callable
from typing import Final

from sim.base.uniform import uniform
from sim.cluster.request_state import RequestState
from sim.events.clock import Clock, Phase
from sim.workload.settings import ReplaySettings

LONGEST_BACKOFF_S: Final = 8.0
JITTER: Final = 0.25
LONGEST_RETRY_AFTER_S: Final = 60.0


class Retries:
    """Decides whether a refused request is sent again, and when.

    Args:
        clock: of the simulation.
        settings: how often, and after what time.
        seed: of the run.
        again: sends a request again.
        noted: is told of each time.
    """

    def __init__(
        self,
        clock: Clock,
        settings: ReplaySettings,
        seed: int,
        *,
        again: Callable[[RequestState], None],
        noted: Callable[[RequestState], None],
    ) -> None:
        self._clock = clock
        self._most = settings.retries
        self._first_s = settings.retry_backoff_s
        self._asked_s = settings.retry_after_s
        self._seed = seed
        self._again = again
        self._noted = noted

    def turned_away(self, record: RequestState) -> bool:
        """A request was refused: return whether its client will send it again."""
        if record.resent == self._most or record.generated or record.first_token_s is not None:
            return False
        index = record.request.index
        draw = uniform(self._seed, "retry", index, record.resent)
        wait_s = backoff_s(record.resent, self._first_s, self._asked_s, draw)
        record.resent += 1
        self._noted(record)

        def act() -> None:
            if not record.over:
                self._again(record)

        self._clock.at(self._clock.now_s + wait_s, Phase.ARRIVAL, index, act)
        return True


def backoff_s(retries: int, first_s: float, asked_s: float | None, draw: float) -> float:
    """Return how long a client waits that has tried a request again so often.

    Args:
        retries: so far.
        first_s: before the first.
        asked_s: what the refusal asks for (Retry-After), if it does.
        draw: a uniform number in [0, 1).
    """
    if asked_s is not None and 0 < asked_s <= LONGEST_RETRY_AFTER_S:
        return asked_s
    longest_s = max(first_s, LONGEST_BACKOFF_S)
    # 2.0 ** 1024 is too large for a float.
    return float(min(first_s * 2.0 ** min(retries, 64), longest_s) * (1.0 - JITTER * draw))
