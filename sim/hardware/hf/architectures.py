"""Which architectures are read, and why the others are not."""

from sim.base.errors import InputError
from sim.base.messages import did_you_mean
from sim.hardware.hf.part import ConfigPart

READ = frozenset(
    {
        *("LlamaForCausalLM", "MistralForCausalLM", "MixtralForCausalLM", "Mistral3ForConditionalGeneration"),
        *("Qwen2ForCausalLM", "Qwen2MoeForCausalLM", "Qwen3ForCausalLM", "Qwen3MoeForCausalLM"),
        *("Qwen3NextForCausalLM", "Qwen3VLForConditionalGeneration", "Qwen3VLMoeForConditionalGeneration"),
        *("Qwen3_5ForConditionalGeneration", "Qwen3_5MoeForConditionalGeneration", "Qwen3_5ForCausalLM"),
        *("Qwen3_5MoeForCausalLM", "GptOssForCausalLM", "MiniMaxM2ForCausalLM", "MiMoForCausalLM"),
        *("DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "KimiK25ForConditionalGeneration"),
        *("Gemma2ForCausalLM", "Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"),
        *("Gemma4ForCausalLM", "Gemma4ForConditionalGeneration"),
        *("Llama4ForCausalLM", "Llama4ForConditionalGeneration", "Phi3ForCausalLM", "PhiForCausalLM"),
        *("GlmForCausalLM", "Glm4ForCausalLM", "Glm4MoeForCausalLM", "NemotronHForCausalLM"),
    }
)
_INDEX = "a sparse index is cached beside the latent vectors, and its cache groups are not modelled"
_STATE = "its recurrent states are not those of a gated delta net or of Mamba-2"
_CROSS = "cross-attention keeps the encoder's tokens, which no cache group here does"
NOT_READ = {
    "DeepseekV32ForCausalLM": _INDEX,
    "GlmMoeDsaForCausalLM": _INDEX,
    "DeepseekV4ForCausalLM": "its caches are compressed and packed, each layer's in another way",
    "MiniMaxM3ForCausalLM": "its attention picks blocks of the cache, which is not modelled",
    "MiniMaxM3SparseForConditionalGeneration": "its attention picks blocks of the cache, which is not "
    "modelled",
    "MiMoV2FlashForCausalLM": "its keys and values have different widths",
    "Step3p7FlashForCausalLM": "its windowed layers have other query heads than the others",
    "DeciLMForCausalLM": "every layer has a shape of its own",
    "KimiLinearForCausalLM": _STATE,
    "KimiK3ForConditionalGeneration": _STATE,
    "Gemma3nForCausalLM": "layers share the cache of others",
    "Gemma3nForConditionalGeneration": "layers share the cache of others",
    "JambaForCausalLM": _STATE,
    "MambaForCausalLM": "it has no KV cache",
    "Mamba2ForCausalLM": "it has no KV cache",
    "MllamaForConditionalGeneration": _CROSS,
    "WhisperForConditionalGeneration": _CROSS,
    "T5ForConditionalGeneration": _CROSS,
    "BartForConditionalGeneration": _CROSS,
}
_INSTEAD = (
    "write a table [model] of its shape if its caches are like those read (docs/how-to/models-and-gpus.md)"
)


def architecture(config: ConfigPart) -> str | None:
    """Return the architecture; None if the file does not say: then its keys alone count.

    Raises:
        InputError: the architecture is not read; says why, and what to do.

    """
    names = config.values.get("architectures")
    if not names:
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise config.refusal("architectures", "must be a list of names")
    known: str | None = next((name for name in names if name in READ), None)
    if known is not None:
        return known
    name: str = names[0]
    if why := NOT_READ.get(name):
        raise InputError(f"{config.path}: {name} is not modelled: {why}; {_INSTEAD}")
    raise InputError(
        f"{config.path}: no rule for the architecture {name!r}{did_you_mean(name, READ)}; {_INSTEAD}"
    )
