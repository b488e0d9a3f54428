"""What holds for one request: the router's settings with those in place of them that it carries."""

from typing import NamedTuple

from sim.router.config import RouterConfig
from sim.router.cost import Weights
from sim.router.overrides import NO_OVERRIDES, Overrides
from sim.router.rules import Rules


class Counting(NamedTuple):
    """What holds for a request with some overrides."""

    overrides: Overrides
    """Those that count."""
    weights: Weights
    """Of the formula."""
    reuse: bool
    """Whether blocks are reused."""


class Resolved:
    """What was made of overrides so far, for one router.

    Args:
        config: its settings.
        rules: of its release.
        decodes: whether its workers are such that decode.
        service: whether it is Dynamo's SelectionService.
        counts_twice: as in `Weights`.
    """

    def __init__(
        self, config: RouterConfig, rules: Rules, *, decodes: bool, service: bool, counts_twice: bool
    ) -> None:
        self._config = config
        self._rules = rules
        self._decodes = decodes
        self._service = service
        self._counts_twice = counts_twice
        self._known: dict[Overrides, Counting] = {}
        self._latest = NO_OVERRIDES, self._resolve(NO_OVERRIDES)
        """The overrides of the request before, and what holds with them: mostly those of the next one too."""

    def of(self, overrides: Overrides) -> Counting:
        """Return what holds for a request with these."""
        latest, counting = self._latest
        if latest is not overrides:
            found = self._known.get(overrides)
            counting = self._resolve(overrides) if found is None else found
            self._latest = overrides, counting
        return counting

    def _resolve(self, overrides: Overrides) -> Counting:
        counting = self._rules.counting(overrides)
        config = self._config.model_copy(update=counting.model_dump(exclude_none=True))
        decode_form = self._decodes and not config.track_prefill_tokens and config.overlap_score_credit > 0
        weights = Weights(
            config.overlap_score_credit,
            config.overlap_score_credit_decay,
            config.prefill_load_scale,
            config.host_cache_hit_weight,
            config.disk_cache_hit_weight,
            config.decode_active_request_weight,
            config.track_prefill_tokens,
            decode_form,
            config.shared_cache_multiplier if config.shared_cache_type == "hicache" else 0.0,
            not self._service or config.overlap_score_credit > 0 or self._rules.service_credits_lower_tiers,
            self._counts_twice,
        )
        found = self._known[overrides] = Counting(counting, weights, config.assume_kv_reuse)
        return found
