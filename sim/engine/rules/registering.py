"""Up to which token a processed output makes blocks findable, with asynchronous scheduling.

0.28.0: the computed tokens but for those being generated. 0.33.0: but for all in flight, which is the same
unless drafts are checked.
"""

from sim.engine.rule_set import Version


def leaves_out_all_in_flight(version: Version) -> bool:
    """Return the rule of a release."""
    return version != "0.28"
