"""What an engine does with recurrent states and windows, from its settings and the release of each rule.

What the rules say stands in `sim/kv/retention.py` (which stay findable), `sim/kv/retirement.py` (which go
back) and `sim/kv/checkpoints.py` (which are saved inside a chunk).
"""

from sim.engine.settings import EngineSettings
from sim.kv.state_rules import StateRules


def state_rules(settings: EngineSettings, *, saves_inside: bool) -> StateRules:
    """Return the rules of an engine; `saves_inside`: its kernel can save a state inside a chunk."""
    rules = settings.rule_set
    return StateRules(
        retention_tokens=settings.retention_tokens,
        retires_all=rules.retirement != "0.28",
        saves_inside=saves_inside and rules.inner_checkpoint != "0.28",
    )
