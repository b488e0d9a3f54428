"""vLLM's NixlConnector in pull mode: what a prefill engine keeps, and what a decode engine pulls.

The prefill engine computes a prompt (of a hybrid model all but its last token: the decode engine then
computes one token and has the state) and keeps its blocks until they were read or the lease ends. The decode
engine pulls the attention blocks it lacks, whole, of a sliding window only those in it, and always the last
recurrent state of every group.
"""

from sys import maxsize

from sim.engine.active import ActiveRequest, RemoteBlocks
from sim.engine.rule_set import DEFAULT, Version
from sim.engine.rules.truncation import truncates_on_arrival
from sim.kv.group_spec import GroupSpec
from sim.kv.groups import blocks_for
from sim.kv.hybrid import KvCache


class Pull:
    """Blocks that a decode engine reads from a prefill engine for one request."""

    __slots__ = ("blocks_by_group", "remote", "request_id")

    def __init__(self, request_id: int, remote: RemoteBlocks, blocks_by_group: tuple[int, ...]) -> None:
        self.request_id = request_id
        self.remote = remote
        self.blocks_by_group = blocks_by_group

    @property
    def blocks(self) -> int:
        """Blocks of all groups."""
        return sum(self.blocks_by_group)


class NixlConnector:
    """One engine's side. `producer`: it must deliver its output; `consumer`: blocks freed wait for a step.

    vLLM's kv_both is both, kv_producer and kv_consumer one of them.
    """

    def __init__(
        self, cache: KvCache, *, producer: bool, consumer: bool, truncation: Version = DEFAULT
    ) -> None:
        self.truncates_on_arrival = truncates_on_arrival(truncation)
        """Whether a prompt loses its last token when it comes, not when it is looked up first."""
        self.producer = producer
        self.consumer = consumer
        self.held: dict[int, ActiveRequest] = {}
        """Requests that ended here and whose blocks wait to be read."""
        self.unneeded: list[int] = []
        """Requests of whose remote blocks none is needed: the other side is only told."""
        self._cache = cache

    def arrives(self, request: ActiveRequest) -> None:
        """A request comes."""
        if self.truncates_on_arrival:
            self._truncate(request)

    def lookup(self, request: ActiveRequest, local_tokens: int) -> int:
        """Tokens to pull beyond a local hit."""
        if request.remote is not None:
            return max(0, request.remote.tokens - local_tokens)
        self._truncate(request)
        return 0

    def _truncate(self, request: ActiveRequest) -> None:
        """Take the last token off the prompt of a prefill request, unless that has been done."""
        if (
            request.for_remote
            and self._cache.recurrent
            and not request.truncated
            and request.prompt_tokens > 1
        ):
            request.truncated = True
            request.prompt_tokens -= 1

    def decline(self, request: ActiveRequest) -> None:
        """It was admitted and lacks nothing that another engine has: the blocks there can go."""
        if request.remote is not None:
            request.remote = None
            self.unneeded.append(request.request_id)

    def start_pull(self, request: ActiveRequest, local_tokens: int) -> Pull:
        """Read what `lookup` promised into the blocks that were allocated for it."""
        remote = request.remote
        assert remote is not None
        request.remote = None
        blocks: list[int] = []
        for group, (spec, there) in enumerate(zip(self._cache.specs, remote.blocks_by_group, strict=True)):
            if spec.kind == "recurrent":
                blocks.append(1)
            elif spec.kind == "full":
                blocks.append(there - local_tokens // spec.block_tokens)
            else:
                table = request.tables[group]
                blocks.append(min(table.length - table.registered, _most(spec)))
        return Pull(request.request_id, remote, tuple(blocks))

    def keep(self, request: ActiveRequest) -> bool:
        """A request ends; return whether its blocks stay, for another engine to read."""
        if request.for_remote:
            self.held[request.request_id] = request
        return request.for_remote

    def offer(self, request: ActiveRequest) -> RemoteBlocks:
        """What the other engine is told of a request that is held here: nothing of slots ahead."""
        blocks: list[int] = []
        for spec, table in zip(self._cache.specs, request.tables, strict=True):
            if spec.kind == "recurrent":
                blocks.append(1)
            else:
                computed = min(table.length, blocks_for(request.prompt_tokens, spec.block_tokens))
                blocks.append(min(computed, _most(spec)))
        return RemoteBlocks(request.prompt_tokens, tuple(blocks))

    def release(self, request_id: int) -> ActiveRequest | None:
        """The blocks were read, or their lease ended; None if they are not held any more."""
        return self.held.pop(request_id, None)


def _most(spec: GroupSpec) -> int:
    """Return the most blocks of a group that one side names: of a sliding window, its end."""
    if spec.kind != "sliding_window":
        return maxsize
    return blocks_for(spec.window_tokens, spec.block_tokens) + 1
