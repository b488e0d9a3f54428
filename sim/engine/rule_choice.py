"""Single rules of another release, as settings: to see what each of them does."""

from sim.base.settings import Settings
from sim.engine.rule_set import RuleSet, Version


class RuleChoice(Settings):
    """Rules that are of another release than the engine. Each is described in `sim/engine/rule_set.py`."""

    queues: Version | None = None
    """Which waiting requests are looked at first."""
    preemption: Version | None = None
    """Who is preempted when blocks are short."""
    prefill_threshold: Version | None = None
    """When `long_prefill_token_threshold` acts."""
    prefill_interval: Version | None = None
    """Whether `prefill_schedule_interval` acts."""
    registering: Version | None = None
    """Up to which token an output makes blocks findable."""
    chunk_stops: Version | None = None
    """Where the last chunk of a hybrid model's prefill stops."""
    retention: Version | None = None
    """Which recurrent states and windows stay findable."""
    retirement: Version | None = None
    """Which recurrent states of a running request go back."""
    inner_checkpoint: Version | None = None
    """Whether a kernel saves a state inside a chunk, and the block that suits it."""
    truncation: Version | None = None
    """When a prefill engine takes the last token off a hybrid model's prompt."""
    tier_stores: Version | None = None
    """In which jobs blocks are copied to the first tier."""
    tier_progress: Version | None = None
    """How far a request counts as stored."""
    tier_recency: Version | None = None
    """What an access to a tier's key is, and who is evicted."""

    def over(self, rules: RuleSet) -> RuleSet:
        """Return a rule set with these rules in it."""
        return rules._replace(**self.model_dump(exclude_none=True))
