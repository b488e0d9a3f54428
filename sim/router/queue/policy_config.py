"""Policy classes: queues beside each other, and which requests come into which (Dynamo 1.5.0).

The keys are those of the YAML file that Dynamo reads (`--router-policy-config`). A class belongs to a policy
family, which a request may name, and to a bucket of uncached prompt lengths; one that has neither is asked
for by its own name.
"""

from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sim.base.bounds import Count, CountOrZero, Weight
from sim.base.settings import Settings

Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$")]


class UncachedIslBucket(Settings):
    """Prompts of at least so many uncached tokens, up to the next bucket."""

    min_tokens: CountOrZero
    """Uncached prompt tokens: of the prompt, what the best of the eligible ranks does not hold."""
    bucket: Identifier
    """Its name."""


class PolicyClass(Settings):
    """One queue."""

    name: Identifier
    """Its name, in refusals too."""
    policy_family: Identifier | None = None
    """The family that a request asks for; unset, with `cache_bucket`: asked for by the class's name."""
    cache_bucket: Identifier | None = None
    """The bucket of its requests."""
    queue_policy: Literal["fcfs", "wspt"] = "fcfs"
    """Which request of the class goes first: the first to come, or the most urgent for its length."""
    quantum: Count
    """Uncached prompt tokens that the class may send on in each round."""
    prefill_busy_threshold: CountOrZero | None = None
    """A rank is busy for the class with more booked prefill tokens than this ..."""
    prefill_busy_threshold_frac: Weight | None = None
    """... or than this times its `max_num_batched_tokens`. Neither set: nobody of the class waits."""
    request_queue_limit_per_worker: CountOrZero | None = None
    """A request that would wait is refused while so many of the class do, times the number of workers."""
    raw_isl_token_queue_limit_per_worker: CountOrZero | None = None
    """The same for the prompt tokens of those that wait."""
    cached_token_queue_limit_per_worker: CountOrZero | None = None
    """The same for their cached tokens."""

    @model_validator(mode="after")
    def _family_with_bucket(self) -> Self:
        if (self.policy_family is None) != (self.cache_bucket is None):
            raise ValueError(
                f'policy class "{self.name}" has one of policy_family and cache_bucket; it needs both, or '
                "neither if requests name the class"
            )
        return self


class PolicyProfile(Settings):
    """Families times buckets: a class for each pair, and classes beside them."""

    default_policy_family: Identifier
    """Of requests that ask for none, or for one that is not there."""
    uncached_isl_buckets: Annotated[tuple[UncachedIslBucket, ...], Field(min_length=1)]
    """From 0 tokens on, in order."""
    policy_classes: Annotated[tuple[PolicyClass, ...], Field(min_length=1)]
    """In the order of the round."""

    @property
    def families(self) -> list[str]:
        """The families, in order of their first class."""
        families = (each.policy_family for each in self.policy_classes)
        return list(dict.fromkeys(family for family in families if family is not None))

    @model_validator(mode="after")
    def _complete(self) -> Self:
        buckets = [each.bucket for each in self.uncached_isl_buckets]
        floors = [each.min_tokens for each in self.uncached_isl_buckets]
        if floors[0] or any(after <= before for before, after in pairwise(floors)):
            raise ValueError(f"min_tokens of uncached_isl_buckets begin at 0 and increase, not {floors}")
        _unique("bucket", buckets)
        _unique("policy class", [each.name for each in self.policy_classes])
        if self.default_policy_family not in self.families:
            raise ValueError(
                f'default_policy_family = "{self.default_policy_family}" is none of {self.families}'
            )
        pairs = [(each.policy_family, each.cache_bucket) for each in self.policy_classes]
        for each in self.policy_classes:
            if each.cache_bucket is not None and each.cache_bucket not in buckets:
                raise ValueError(f'policy class "{each.name}": cache_bucket is one of {buckets}')
            if each.policy_family is None and each.name in self.families:
                raise ValueError(f'policy class "{each.name}" is called as a family is')
        for family in self.families:
            for bucket in buckets:
                if (count := pairs.count((family, bucket))) != 1:
                    raise ValueError(
                        f'{count} policy classes for family "{family}" and bucket "{bucket}", not 1'
                    )
        return self


class PolicyConfig(Settings):
    """A policy file."""

    default_policy_family: Identifier | None = None
    """As in `PolicyProfile`; of the profile for all models, if there is one."""
    uncached_isl_buckets: tuple[UncachedIslBucket, ...] | None = None
    """As in `PolicyProfile`."""
    policy_classes: tuple[PolicyClass, ...] | None = None
    """As in `PolicyProfile`."""
    models: dict[str, PolicyProfile] = Field(default={})
    """Profiles of single models, by name, in place of the one for all."""

    @model_validator(mode="after")
    def _whole_profile(self) -> Self:
        given = (self.default_policy_family, self.uncached_isl_buckets, self.policy_classes)
        if any(each is None for each in given) and (given != (None, None, None) or not self.models):
            raise ValueError(
                "a profile has default_policy_family, uncached_isl_buckets and policy_classes, all three"
            )
        self.profile(None)
        return self

    def profile(self, model: str | None) -> PolicyProfile | None:
        """Return the profile for a model; None: it has none."""
        if model in self.models:
            return self.models[model]
        if self.default_policy_family is None:
            return None
        assert self.uncached_isl_buckets is not None
        assert self.policy_classes is not None
        return PolicyProfile(
            default_policy_family=self.default_policy_family,
            uncached_isl_buckets=self.uncached_isl_buckets,
            policy_classes=self.policy_classes,
        )


def _unique(what: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f'{what} "{name}" is there {names.count(name)} times')
