"""The memory arithmetic as text: what `sim capacity` prints."""

from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from sim.base.units import format_bytes
from sim.hardware.capacity import Capacity
from sim.hardware.model import ModelSettings
from sim.show.text.page_table import PageTable
from sim.show.text.summary import footnotes, heading

_STATES = (
    "grown: computed turn by turn, with one checkpoint of the state; cold: computed at once, with one at the "
    "end of every chunk"
)


class Line(NamedTuple):
    """One line of the arithmetic: what it is, its value, and how it comes about."""

    label: str
    value: str
    arithmetic: str


def lines(result: Capacity) -> list[Line]:
    """Return the arithmetic of a capacity from the weights to the sessions that fit."""
    return [
        *_weight_lines(result.model),
        *_pool_lines(result),
        *_block_lines(result),
        *_session_lines(result),
    ]


def render(result: Capacity, console: Console, notes: Sequence[str] = ()) -> None:
    """Print the lines as a table, titled with model and GPU, and notes below."""
    table = PageTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right")
    table.add_column()
    for line in lines(result):
        table.add_row(*line)
    states = [_STATES] if result.model.state_groups else []
    title = f"{result.model.name} on {result.gpu.name}"
    console.print(heading(title, "memory of one worker"), Text(), table, footnotes([*states, *notes]))


def _weight_lines(model: ModelSettings) -> list[Line]:
    parts = [
        Line(f"  {part.label}", f"{part.params / 1e9:.2f}B", f"{part.formula}, {part.bytes_per_param} B each")
        for part in model.weight_parts()
    ]
    unknown = model.weights_loaded_bytes is None
    return [
        *parts,
        Line("weights as computed", format_bytes(model.weights_computed_bytes, 1), "sum of the above"),
        Line(
            "weights as loaded",
            format_bytes(model.weights_bytes),
            "not known: as computed" if unknown else "from the engine's log; these count",
        ),
    ]


def _pool_lines(result: Capacity) -> list[Line]:
    model, gpu = result.model, result.gpu
    runtime = (gpu.cuda_context_bytes, model.peak_activation_bytes, model.cuda_graphs_bytes)
    taken = (result.usable_bytes, model.weights_bytes, result.runtime_bytes)
    return [
        Line(
            "usable memory",
            format_bytes(result.usable_bytes),
            f"{format_bytes(gpu.memory_bytes)} x {result.gpu_memory_utilization}",
        ),
        Line(
            "runtime",
            format_bytes(result.runtime_bytes),
            f"{' + '.join(map(_gib, runtime))}: CUDA context, peak activation, CUDA graphs",
        ),
        Line(
            "KV pool",
            format_bytes(result.pool_bytes),
            f"{result.num_blocks:,} blocks, given" if result.blocks_given else " - ".join(map(_gib, taken)),
        ),
    ]


def _block_lines(result: Capacity) -> list[Line]:
    model = result.model
    blocks, tokens = f"{result.num_blocks:,}", f"{result.block_tokens:,}"
    found = [
        Line(
            "KV cache of a token",
            format_bytes(model.kv_bytes_per_token),
            f"{model.kv_bytes_per_token_and_layer:,} B x {model.full_attention_layers} layers",
        )
    ]
    if model.state_groups:
        found.append(
            Line(
                "state of a sequence",
                format_bytes(model.state_bytes_per_sequence, 1),
                f"{model.state_bytes_per_layer:,} B x {model.linear_attention_layers} layers",
            )
        )
    return [
        *found,
        Line("block", f"{tokens} tokens", f"{format_bytes(result.block_bytes)}"),
        Line("KV blocks", blocks, "given" if result.blocks_given else "KV pool / block"),
        Line("tokens in the pool", f"{result.pool_tokens:,}", f"{blocks} x {tokens}"),
        Line(
            "maximum concurrency",
            f"{result.max_concurrency:.3f}x",
            f"sequences of {model.max_model_len:,} tokens",
        ),
    ]


def _session_lines(result: Capacity) -> list[Line]:
    model, session = result.model, result.session
    size = session.tokens * model.kv_bytes_per_token + model.state_bytes_per_sequence
    state = f" + {format_bytes(model.state_bytes_per_sequence, 1)}" if model.state_groups else ""
    found = [
        Line(
            f"session of {session.tokens:,} tokens",
            format_bytes(size, 1),
            f"{session.tokens:,} x {format_bytes(model.kv_bytes_per_token)}{state}",
        )
    ]
    places = [("GPU", result.idle, f"{result.num_blocks - 1:,}")]
    places += [(f"{format_bytes(tier.n_bytes)} of host", tier, f"{tier.blocks:,}") for tier in result.host]
    for place, tier, blocks in places:
        if not model.state_groups:
            found.append(
                Line(f"  kept in {place}", str(tier.grown_sessions), f"{blocks} / {session.grown:,} blocks")
            )
            continue
        found += [
            Line(f"  kept in {place}, grown", str(tier.grown_sessions), f"{blocks} / {session.grown} blocks"),
            Line(f"  kept in {place}, cold", str(tier.cold_sessions), f"{blocks} / {session.cold} blocks"),
        ]
    if model.state_groups:
        found += [
            Line(
                "  cold, running at once",
                str(result.running_cold_async),
                f"asynchronous scheduling: {session.cold_prefill_async} blocks in prefill, then "
                f"{session.cold_decode_async}",
            ),
            Line(
                "",
                str(result.running_cold_sync),
                f"synchronous: {session.cold_prefill_sync} blocks in prefill, then {session.grown}",
            ),
        ]
    return found


def _gib(n_bytes: int) -> str:
    return f"{n_bytes / 2**30:.2f}"
