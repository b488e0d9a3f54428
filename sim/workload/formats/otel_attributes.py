"""What attributes of spans are called, the conventions' own names first, then those that they replaced."""

from collections.abc import Mapping
from typing import Any

PLAIN_INPUT = "input_tokens"
"""Of Claude Code's spans: without what was cached."""
INPUT = (
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.usage.prompt_tokens",
    "llm.token_count.prompt",
    PLAIN_INPUT,
)
OUTPUT = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.usage.completion_tokens",
    "llm.token_count.completion",
    "output_tokens",
)
CACHED = (
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "gen_ai.usage.input_tokens.cached",
    "gen_ai.usage.cached_tokens",
    "llm.usage.cache_read_input_tokens",
    "llm.token_count.prompt_details.cache_read",
    "cache_read_tokens",
)
CREATED = (
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_creation_input_tokens",
    "llm.usage.cache_creation_input_tokens",
    "llm.token_count.prompt_details.cache_write",
    "cache_creation_tokens",
)
CONVERSATION = (
    "gen_ai.conversation.id",
    "session.id",
    "langfuse.session.id",
    "traceloop.association.properties.session_id",
    "thread.id",
)
MODEL = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "model")
NAME = ("gen_ai.response.id", "gen_ai.request.id", "request_id", "request.id")
CHATS = frozenset({"chat", "text_completion", "completion", "generate_content"})
"""Operations that are one call; those of agents and tools sum up others, embeddings generate nothing."""
_VALUES = ("stringValue", "intValue", "doubleValue", "boolValue")


def attributes_of(value: object) -> dict[str, Any]:
    """Return attributes by name, from a list of keys and values as OTLP has them or from an object."""
    if isinstance(value, Mapping):
        return {str(key): _value(each) for key, each in value.items()}
    found = {}
    for each in value if isinstance(value, list) else ():
        if isinstance(each, Mapping) and isinstance(each.get("key"), str):
            found[each["key"]] = _value(each.get("value"))
    return found


def is_chat(attributes: Mapping[str, Any]) -> bool:
    """Whether a span is a call of a model by its operation, if it names one."""
    kind = attributes.get("gen_ai.operation.name")
    kind = attributes.get("openinference.span.kind") if kind is None else kind
    return kind is None or (type(kind) is str and (kind in CHATS or kind == "LLM"))


def ttft_s(attributes: Mapping[str, Any]) -> float | None:
    """Return how long the first token took."""
    for key, unit_s in (
        ("gen_ai.latency.time_to_first_token", 1.0),
        ("gen_ai.server.time_to_first_token", 1.0),
        ("ttft_ms", 1e-3),
    ):
        value = attributes.get(key)
        if isinstance(value, int | float) and 0 <= value < 1e9:
            return float(value) * unit_s
    return None


def _value(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    kind = next((key for key in _VALUES if key in value), None)
    found = None if kind is None else value[kind]
    if kind == "intValue" and type(found) is str and found.isascii() and found.isdigit() and len(found) < 20:
        return int(found)  # OTLP writes 64-bit numbers as strings.
    return found
