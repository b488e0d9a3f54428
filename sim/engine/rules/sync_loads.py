"""Loads within a step, `sync_load_budget_bytes`: a setting that vLLM 0.28.0 does not have.

A hit of the first tier that fits in what is left of the step's budget is loaded before the step is computed:
its request is admitted at once, with no wait and no reservation for others.
"""


class SyncLoads:
    """The budget of one engine. `bytes_per_token`: KV of a token over all groups."""

    __slots__ = ("_budget_bytes", "_bytes_per_token", "_left_bytes", "_taken")

    def __init__(self, budget_bytes: int, bytes_per_token: int) -> None:
        self._budget_bytes = budget_bytes
        self._bytes_per_token = bytes_per_token
        self._left_bytes = budget_bytes
        self._taken: set[int] = set()

    def begin_step(self) -> None:
        """The next step has its budget whole."""
        self._left_bytes = self._budget_bytes
        self._taken.clear()

    def found(self, request_id: int, tokens: int, wanted_tokens: int) -> None:
        """A look-up found so many tokens, of so many that the request lacks: take them if they fit.

        One token at least must be left to compute. What is taken stays so, admitted or not.
        """
        self._taken.discard(request_id)
        size = tokens * self._bytes_per_token
        if 0 < tokens < wanted_tokens and size <= self._left_bytes:
            self._left_bytes -= size
            self._taken.add(request_id)

    def takes(self, request_id: int) -> bool:
        """Whether what was found for a request last is loaded within the step."""
        return request_id in self._taken
