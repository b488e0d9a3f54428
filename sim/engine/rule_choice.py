"""Single rules of another release, as settings: to see what each of them does."""

from typing import Annotated

from pydantic import BeforeValidator

from sim.base.settings import Settings
from sim.engine.rule_set import RuleSet, Version


def _as_text(value: object) -> object:
    """Return a number as it is written: 0.33 without quotes is meant as "0.33"."""
    return str(value) if isinstance(value, float) else value


GivenVersion = Annotated[Version, BeforeValidator(_as_text)]
"""A release as a user gives it."""


class RuleChoice(Settings):
    """Rules that are of another release than the engine. Each is described in `sim/engine/rule_set.py`."""

    queues: GivenVersion | None = None
    """Which waiting requests are looked at first."""
    preemption: GivenVersion | None = None
    """Who is preempted when blocks are short."""
    prefill_threshold: GivenVersion | None = None
    """When `long_prefill_token_threshold` acts."""
    prefill_interval: GivenVersion | None = None
    """Whether `prefill_schedule_interval` acts."""
    registering: GivenVersion | None = None
    """Up to which token an output makes blocks findable."""
    chunk_stops: GivenVersion | None = None
    """Where the last chunk of a hybrid model's prefill stops."""
    retention: GivenVersion | None = None
    """Which recurrent states and windows stay findable."""
    retirement: GivenVersion | None = None
    """Which recurrent states of a running request go back."""
    inner_checkpoint: GivenVersion | None = None
    """Whether a kernel saves a state inside a chunk, and the block that suits it."""
    truncation: GivenVersion | None = None
    """When a prefill engine takes the last token off a hybrid model's prompt."""
    tier_stores: GivenVersion | None = None
    """In which jobs blocks are copied to the first tier."""
    tier_progress: GivenVersion | None = None
    """How far a request counts as stored."""
    tier_recency: GivenVersion | None = None
    """What an access to a tier's key is, and who is evicted."""

    def over(self, rules: RuleSet) -> RuleSet:
        """Return a rule set with these rules in it."""
        return rules._replace(**self.model_dump(exclude_none=True))
