"""Which release of vLLM each rule of an engine is of.

Releases differ in single rules. What such a rule says under each release stands in the file that its line
names; an engine chooses once, when it is built. A further release is a column of `RULES` and, where it says
anything new, an entry in the files of the rules that it changed.
"""

from typing import Final, Literal, NamedTuple, get_args

Version = Literal["0.28", "0.33"]
"""vLLM 0.28.0 and 0.33.0."""

VERSIONS: Final[tuple[Version, ...]] = get_args(Version)
DEFAULT: Final[Version] = "0.28"


class RuleSet(NamedTuple):
    """The release that each rule is of; `_replace` exchanges one."""

    queues: Version
    """Which waiting requests are looked at first (`rules/queues.py`)."""
    preemption: Version
    """Who is preempted when blocks are short (`rules/preemption.py`)."""
    prefill_threshold: Version
    """When `long_prefill_token_threshold` acts (`rules/prefill_threshold.py`)."""
    prefill_interval: Version
    """Whether `prefill_schedule_interval` acts (`rules/prefill_interval.py`)."""
    registering: Version
    """Up to which token an output makes blocks findable (`rules/registering.py`)."""
    chunk_stops: Version
    """Where the last chunk of a hybrid model's prefill stops (`rules/chunk_stops.py`)."""
    retention: Version
    """Which recurrent states and windows stay findable (`sim/kv/retention.py`)."""
    retirement: Version
    """Which recurrent states of a running request go back (`sim/kv/retirement.py`)."""
    inner_checkpoint: Version
    """Whether a kernel saves a state inside a chunk, and the block that suits it (`rules/states.py`)."""
    truncation: Version
    """When a prefill engine takes the last token off a hybrid model's prompt (`rules/truncation.py`)."""
    tier_stores: Version
    """In which jobs blocks are copied to the first tier (`rules/tier_stores.py`)."""
    tier_progress: Version
    """How far a request counts as stored (`rules/tier_progress.py`)."""
    tier_recency: Version
    """What an access to a tier's key is, and who is evicted (`rules/tier_recency.py`)."""


def all_of(version: Version) -> RuleSet:
    """Return the rules of one release."""
    return RuleSet(*[version for _ in RuleSet._fields])


RULES: Final[dict[Version, RuleSet]] = {version: all_of(version) for version in VERSIONS}
