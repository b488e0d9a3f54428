"""The classes of a router's queue as it works with them, and which of them a request is in (Dynamo 1.5.0)."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from sim.router.queue.policy_config import PolicyClass
from sim.router.queue.settings import QueuePolicy, QueueSettings

UNKNOWN_BATCHED_TOKENS: Final = 10_000_000
"""What Dynamo takes for `max_num_batched_tokens` where a worker does not tell."""
SINGLE: Final = "default"
"""What Dynamo calls the class of a router without a policy file."""


class QueueClass(NamedTuple):
    """One queue."""

    name: str
    order: QueuePolicy = "fcfs"
    quantum: int = 1
    busy_tokens: float | None = None
    """A rank is busy with more booked prefill tokens; None: never."""
    most_requests: int | None = None
    """A request that would wait is refused from so many on that do, for each worker; None: never."""
    most_isl_tokens: int | None = None
    most_cached_tokens: int | None = None


class QueueClasses(NamedTuple):
    """The classes in the order of the round, and the way to them."""

    classes: Sequence[QueueClass]
    by_name: Mapping[str, int]
    """Classes that are asked for by name."""
    floors: Sequence[int] = (0,)
    """Uncached prompt tokens from which each bucket counts."""
    families: Mapping[str, Sequence[int]] = {}
    """By family, the class of each bucket."""
    default: str | None = None
    """The family of requests that ask for none that is known; None: there is but one class."""

    def direct(self, asked: str | None) -> int | None:
        """Return the class of a request where its prompt does not matter."""
        if self.default is None:
            return 0
        return None if asked is None else self.by_name.get(asked)

    def of(self, asked: str | None, uncached_tokens: int) -> int:
        """Return the class of a request that asks for a family, or for none."""
        assert self.default is not None
        buckets = self.families.get(asked or self.default) or self.families[self.default]
        return buckets[bisect_right(self.floors, uncached_tokens) - 1]


def queue_classes(
    settings: QueueSettings, *, max_num_batched_tokens: int | None, model: str | None = None
) -> QueueClasses | None:
    """Return the classes that settings describe; None: nobody ever waits."""
    batched_tokens = UNKNOWN_BATCHED_TOKENS if max_num_batched_tokens is None else max_num_batched_tokens
    config = settings.policy_config
    assert not isinstance(config, str), "the file is read by who has the settings"
    profile = None if config is None else config.profile(model)
    if profile is None:
        if settings.queue_threshold is None:
            return None
        busy_tokens = settings.queue_threshold * batched_tokens
        return QueueClasses([QueueClass(SINGLE, settings.queue_policy, busy_tokens=busy_tokens)], {})
    given = profile.policy_classes
    place = {(each.policy_family, each.cache_bucket): number for number, each in enumerate(given)}
    buckets = profile.uncached_isl_buckets
    return QueueClasses(
        [_class(each, batched_tokens) for each in given],
        {each.name: number for number, each in enumerate(given) if each.policy_family is None},
        [bucket.min_tokens for bucket in buckets],
        {family: [place[family, bucket.bucket] for bucket in buckets] for family in profile.families},
        profile.default_policy_family,
    )


def _class(given: PolicyClass, batched_tokens: int) -> QueueClass:
    limits: list[float] = []
    if given.prefill_busy_threshold is not None:
        limits.append(given.prefill_busy_threshold)
    if given.prefill_busy_threshold_frac is not None:
        limits.append(given.prefill_busy_threshold_frac * batched_tokens)
    return QueueClass(
        given.name,
        given.queue_policy,
        given.quantum,
        min(limits, default=None),
        given.request_queue_limit_per_worker,
        given.raw_isl_token_queue_limit_per_worker,
        given.cached_token_queue_limit_per_worker,
    )
