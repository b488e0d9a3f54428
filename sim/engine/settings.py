"""The engine's settings: names and defaults of vLLM's server on an 80 GB H100."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from sim.base.bounds import MOST, Count, CountOrZero
from sim.base.settings import Settings
from sim.base.units import Tokens
from sim.engine.draft_methods import ASYNC, Method
from sim.engine.rule_choice import GivenVersion, RuleChoice
from sim.engine.rule_set import DEFAULT, RULES, RuleSet


def _without_commas(value: object) -> object:
    return value.replace(",", "") if isinstance(value, str) else value


PoolBlocks = Annotated[
    int,
    BeforeValidator(_without_commas, json_schema_input_type=Annotated[int, Field(ge=2, le=MOST)] | str),
]
"""Blocks of a KV pool, as the engine's log has them: 123,456 too."""


class SpeculativeSettings(Settings):
    """vLLM's `--speculative-config`, and how well drafts are accepted."""

    method: Method
    """Where drafts come from; all MTP models are `mtp`."""
    num_speculative_tokens: Annotated[int, Field(ge=1, le=64)]
    """Drafts a step and request, K: 1 + K tokens are computed, whatever is accepted."""
    acceptance_length: Annotated[float, Field(ge=1, le=65)]
    """Mean tokens that a step gives each request, 1 to 1 + K: vLLM's log calls it so."""
    num_nextn_predict_layers: Annotated[int, Field(ge=1, le=64)] = 1
    """Drafting modules of an MTP model, by its `config.json`; of several, drafts read further ahead."""
    parallel_drafting: bool = False
    """Whether all drafts of a step come from one pass of the drafter."""

    @field_validator("acceptance_length")
    @classmethod
    def _at_most_all(cls, value: float, info: ValidationInfo) -> float:
        drafts = info.data.get("num_speculative_tokens")
        if drafts is not None and value > 1 + drafts:
            raise PydanticCustomError(
                "acceptance_length",
                "must be at most 1 + num_speculative_tokens = {most}",
                {"most": 1 + drafts},
            )
        return value


class EngineSettings(Settings):
    """How each vLLM engine is started: names and defaults of its server on an 80 GB H100."""

    version: GivenVersion = DEFAULT
    """Whose rules hold where releases of vLLM differ: 0.28.0's or 0.33.0's."""
    rules: RuleChoice | None = None
    """Single rules of the other release, to see what each of them does; unset: all are of `version`."""
    max_num_batched_tokens: Count = 8192
    """Token budget of a step; in a scenario, unset: as vLLM's server has it on the GPU: 16,384 from 160 GiB
    on, 8,192 from 70 GiB on, else, and on an A100, 2,048."""
    max_num_seqs: Count = 1024
    """Most requests that run at once; unset likewise: 1,024, or 256 on a smaller GPU or an A100."""
    max_model_len: Tokens | None = Field(default=None, gt=0)
    """Longest sequence that is served; unset: the model's own `max_model_len`, which is also the most."""
    scheduling_policy: Literal["fcfs", "priority"] = "fcfs"
    """Who goes first: who came first; or by the priority of requests in the trace, which Dynamo hands to vLLM
    with its sign turned, and who came first among equals. The least urgent is preempted then."""
    max_num_active_seqs: Count | None = None
    """Most requests that run at once, at most `max_num_seqs`, which then only sizes the model runner; unset:
    as many as that. vLLM 0.33 has it."""
    max_num_queued_reqs: CountOrZero | None = None
    """Most requests that an API server has unfinished, running ones too: one more is refused (503); unset: no
    limit. vLLM 0.33 has it."""
    max_num_queued_tokens: CountOrZero | None = None
    """While requests without a first token have so many prompt tokens, an API server refuses more (503);
    unset: no limit. vLLM 0.33 has it."""
    long_prefill_token_threshold: CountOrZero = 0
    """Most tokens of one prefill in a step; 0: no limit. In vLLM 0.33 not of a request that is alone."""
    long_prefill_token_threshold_adaptive: bool = False
    """Whether that limit is at least a request's even share of the step's budget. vLLM 0.33 has it."""
    prefill_schedule_interval: Count = 1
    """While others decode, prefill is computed in one of so many steps, unless more requests wait than a step
    takes. vLLM 0.28 ignores it but for data-parallel ranks in lock step, which are not simulated so."""
    prefix_cache_retention_interval: CountOrZero | Literal["dense"] | None = None
    """Which recurrent states, and windows, stay findable. 0: those that a repetition of the prompt starts
    from, and those where prompts part; a number of tokens, a multiple of the block: those at its multiples
    too; dense: all. Unset: 0 in vLLM 0.33; 0.28 has only dense."""
    sync_load_budget_bytes: Annotated[int, Field(ge=0, le=MOST)] = 0
    """A hit in host memory of at most so many bytes, over all requests of a step, is loaded before that step
    is computed; 0: every load is waited for in the queue. vLLM 0.33 has it."""
    gdn_prefill_backend: Literal["auto", "flashinfer", "triton"] = "auto"
    """Kernel for prefills of gated delta nets. FlashInfer's saves states inside a chunk in vLLM 0.33, and
    makes blocks multiples of 64 tokens; auto: FlashInfer's on Hopper and on Blackwell."""
    watermark: float = Field(default=0.0, ge=0, lt=1)
    """Share of the pool that must stay free when a request joins others that run."""
    async_scheduling: bool = True
    """Whether a step is scheduled before the output of the one before it was processed; never with drafts
    from `ngram`, `medusa` or `suffix`."""
    gpu_memory_utilization: float = Field(default=0.92, gt=0, le=1)
    """Share of the GPU's memory that the engine may use."""
    block_size: Count | None = None
    """Tokens of a KV block, 16 if unset; a hybrid model's engine enlarges it (Qwen3.8-27B-FP8: 800)."""
    kv_blocks: PoolBlocks | None = Field(default=None, ge=2, le=MOST)
    """Blocks of the KV pool, as the engine's log has them; unset: derived from the GPU's memory."""
    vllm_0_28_faults: bool = False
    """Whether a prefill engine dies of a prompt of which nothing is left to compute, as vLLM 0.28.0's does.
    Otherwise such a prompt is counted, and its last block is computed again, as in later versions."""
    speculative: SpeculativeSettings | None = None
    """Speculative decoding; unset: none."""
    fast_forward: bool = True
    """Whether steps in which nothing but decoding happens are taken together; changes no result. Engines with
    speculative decoding take each step alone."""

    @property
    def rule_set(self) -> RuleSet:
        """The release that each rule is of."""
        rules = RULES[self.version]
        return rules if self.rules is None else self.rules.over(rules)

    @property
    def retention_tokens(self) -> int | None:
        """The interval of states that stay findable; None: all do."""
        interval = self.prefix_cache_retention_interval
        if self.rule_set.retention == "0.28" or interval == "dense":
            return None
        return interval or 0

    @property
    def asynchronous(self) -> bool:
        """Whether two steps are in flight."""
        return self.async_scheduling and (self.speculative is None or self.speculative.method in ASYNC)
