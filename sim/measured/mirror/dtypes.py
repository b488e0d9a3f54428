"""Number formats of the KV cache and of recurrent states, by vLLM's names (0.28.0)."""

from sim.measured.mirror.found import Found

_KV = {
    "fp8": "fp8",
    "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8",
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
}
_STATE = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16", "half": "fp16"}
_AS_THE_MODEL = (None, "", "auto")


def tell_kv_dtype(name: str | None, source: str, found: Found) -> None:
    """Add the format of the KV cache."""
    _tell("model.kv_dtype", name, _KV, source, found)


def tell_state_dtype(name: str | None, source: str, found: Found) -> None:
    """Add the format of the recurrent states of a hybrid model."""
    _tell("model.ssm_state_dtype", name, _STATE, source, found)


def _tell(key: str, name: str | None, known: dict[str, str], source: str, found: Found) -> None:
    if name in _AS_THE_MODEL:
        return
    assert name is not None
    found.tell(key, known.get(name), source)
    if name not in known:
        found.not_like(f"{source} = {name}: not modelled; {key} can be one of {', '.join({*known.values()})}")
