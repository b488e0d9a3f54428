"""When a prefill engine takes the last token off a hybrid model's prompt, which the decode engine computes.

0.28.0: in the first look-up, whose local part still sees it; if all that is left is found there, the engine
dies. 0.33.0: when the request comes.
"""

from sim.engine.rule_set import Version


def truncates_on_arrival(version: Version) -> bool:
    """Return the rule of a release."""
    return version != "0.28"
