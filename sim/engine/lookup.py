"""What a waiting request need not compute: its GPU hit, and what the connectors add."""

from sim.engine.active import ActiveRequest
from sim.engine.connector import OffloadingConnector
from sim.engine.nixl import NixlConnector
from sim.kv.hit import Hit
from sim.kv.hybrid import KvCache
from sim.kv.runs import BlockRuns


class EngineDiedError(Exception):
    """The engine met a prompt that vLLM 0.28.0 does not survive; nothing on it will ever be served."""


class Lookup:
    """The look-up of one engine, repeated each time that a request is tried.

    With both connectors vLLM's MultiConnector asks them in order, `nixl` first unless `offload_first`.
    `dies_on_full_hit`: a prompt of which nothing is left to compute kills the engine, as in vLLM 0.28.0.
    """

    def __init__(
        self,
        cache: KvCache,
        offload: OffloadingConnector | None,
        nixl: NixlConnector | None,
        *,
        offload_first: bool,
        dies_on_full_hit: bool,
    ) -> None:
        self.nothing_left = 0
        """Prompts of which nothing was left to compute when their last token had been taken off."""
        children = (offload, nixl) if offload_first else (nixl, offload)
        self._children = [child for child in children if child is not None]
        self._cache = cache
        self._offload = offload
        self._takes_last_token = nixl is not None and bool(cache.recurrent)
        self._takes_it_early = nixl is not None and nixl.truncates_on_arrival
        # A pull always brings the state, a load from a tier only together with attention blocks.
        self._stateless_hits = nixl is not None and offload is None
        self._dies_on_full_hit = dies_on_full_hit

    def find(self, request: ActiveRequest) -> tuple[Hit, int | None]:
        """Return the local hit and the tokens to be brought from outside; None: ask again later.

        Sets the boundary at which a chunk of the request must stop. Raises EngineDiedError.
        """
        cache = self._cache
        look = cache.lookup_attention if self._stateless_hits else cache.lookup
        hit = look(request.block_ids, request.num_tokens)
        external = self.ask(request, hit.tokens)
        if external is None:
            return hit, None
        if hit.stateless and not external:
            hit = cache.lookup(request.block_ids, request.num_tokens)
        if not external and hit.tokens == request.num_tokens:
            hit = self._hit_less(request)
        request.boundary_tokens = hit.attention_tokens if hit.attention_tokens > hit.tokens else 0
        return hit, external

    def would_hit(self, block_ids: BlockRuns, prompt_tokens: int, *, for_remote: bool = False) -> int:
        """Tokens of a new prompt that would be hit if it were tried now, here and in the tiers.

        Asking changes nothing: no key is touched, nothing begins to be copied. Blocks that a running request
        has registered count, computed or not, as they do for the engine. `for_remote`: another engine will
        read the prompt's blocks; what it would pull from others does not count.
        """
        tokens = prompt_tokens
        if for_remote and self._takes_last_token and tokens > 1:
            tokens -= 1
        known = tokens if self._takes_it_early else prompt_tokens
        local = self._cache.lookup(block_ids, known).tokens
        external = 0
        if self._offload is not None:
            external = self._offload.would_add(block_ids, tokens, prompt_tokens, local)
        if local == tokens and not external:
            return self._cache.lookup(block_ids, tokens).tokens
        return min(local + external, tokens - 1)

    def ask(self, request: ActiveRequest, local_tokens: int) -> int | None:
        """Tokens that the first connector to have any adds to a local hit; None: one must be asked again."""
        external = 0
        for child in self._children:
            found = child.lookup(request, local_tokens)
            if found is None:
                return None
            external = external or found
        return external

    def _hit_less(self, request: ActiveRequest) -> Hit:
        """The token taken off a prompt was all that a hit had left to compute: hit a block less."""
        self.nothing_left += 1
        if self._dies_on_full_hit:
            raise EngineDiedError(request.request_id)
        return self._cache.lookup(request.block_ids, request.num_tokens)
