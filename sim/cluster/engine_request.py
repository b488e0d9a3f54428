"""What a worker is asked to compute of a request: prompt and answer, or the prompt alone."""

from sim.cluster.request_state import RequestState
from sim.engine.active import ActiveRequest
from sim.kv.prefix import PrefixTable
from sim.kv.runs import BlockRuns


def whole(prefixes: PrefixTable, record: RequestState) -> ActiveRequest:
    """Return the request as an engine sees it that computes its answer."""
    request = record.request
    if record.sequence is None:
        full_blocks = (request.prompt_tokens + request.output_tokens) // prefixes.block_tokens
        generated = prefixes.private_blocks(full_blocks - len(record.blocks))
        record.sequence = BlockRuns((*record.blocks.ranges, generated))
    left = request.output_tokens - record.generated
    asked = ActiveRequest(record.request_id, record.prompt_tokens, left, record.sequence)
    asked.priority = -request.priority
    return asked


def prompt_only(prefixes: PrefixTable, hybrid: bool, record: RequestState) -> ActiveRequest:
    """Return the request as a prefill engine sees it: the prompt, and one token of answer.

    That token may fill a block. vLLM 0.28.0 then gives the block a hash when the token comes back, and the
    OffloadingConnector stores it if it stores answers, although that token was never computed
    (`Request.update_block_hashes`, `_build_store_jobs`). A `hybrid` model's engine gives a prompt's last
    token away and has no block beyond the prompt.
    """
    tokens = record.prompt_tokens + (0 if hybrid else 1)
    if record.returns and record.sequence is not None:
        known = BlockRuns(record.sequence.between(0, tokens // prefixes.block_tokens))
        return _for_remote(record, known)
    generated = prefixes.private_blocks(tokens // prefixes.block_tokens - len(record.blocks))
    blocks = BlockRuns((*record.blocks.ranges, generated)) if generated else record.blocks
    return _for_remote(record, blocks)


def _for_remote(record: RequestState, blocks: BlockRuns) -> ActiveRequest:
    asked = ActiveRequest(record.request_id, record.prompt_tokens, 1, blocks)
    asked.for_remote = True
    asked.priority = -record.request.priority
    return asked
