"""The memory arithmetic as text: what `sim capacity` prints."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rich.console import Console, Group
from rich.text import Text

from sim.base.words import exactly, format_bytes
from sim.hardware.capacity import Capacity
from sim.hardware.parallel import Parallel
from sim.hardware.runtime_memory import Runtime
from sim.hardware.sharding import GpuShare
from sim.show.text.page_parts import footnotes, heading, reckoned
from sim.show.text.versions import rules_line

_STATES = (
    "grown: computed turn by turn, with one checkpoint of the state; cold: computed at once, with one at the "
    "end of every chunk"
)


_WINDOWS = "grown: with what its windows still read; cold: just computed, with all that left its windows"
_KINDS = {
    "full": "full attention",
    "sliding_window": "sliding window{}",
    "chunked_local": "chunks{}",
    "recurrent": "recurrent state",
}


class Line(NamedTuple):
    """One line of the arithmetic: what it is, its value, and how it comes about."""

    label: str
    value: str
    arithmetic: str


def lines(result: Capacity) -> list[Line]:
    """Return the arithmetic of a capacity from the weights to the sessions that fit."""
    return [
        *_engine_lines(result),
        *_weight_lines(result),
        *_pool_lines(result),
        *_block_lines(result),
        *_session_lines(result),
    ]


def render(
    result: Capacity, console: Console, notes: Sequence[str] = (), versions: Mapping[str, str] | None = None
) -> None:
    """Print the lines as a table, titled with model, GPU and whose rules hold, and notes below."""
    table = reckoned(lines(result))
    windowed, several = result.model.windows is not None, len(result.engine.layout.groups) > 1
    states = [_WINDOWS] if windowed else [_STATES] if several else []
    gpus = result.engine.parallel.gpus
    title = f"{result.model.name} on {result.gpu.name if gpus == 1 else f'{gpus} x {result.gpu.name}'}"
    of = "one worker" if gpus == 1 else "one GPU of a worker"
    rules = [*rules_line([{"versions": versions or {}}])]
    head = Group(heading(title, f"memory of {of}"), *rules)
    console.print(head, Text(), table, footnotes([*states, *notes]))


def beside(
    result: Capacity, max_num_batched_tokens: int, max_num_seqs: int, estimate: int | str | None
) -> list[str]:
    """Return notes: the engine's limits of a step and, if it was asked, what AIConfigurator's core says."""
    notes = [f"max_num_batched_tokens {max_num_batched_tokens:,}, max_num_seqs {max_num_seqs:,}"]
    if isinstance(estimate, int):
        beside = (
            f" ({estimate / result.num_blocks - 1:+.1%})" if len(result.engine.layout.groups) == 1 else ""
        )
        notes.append(
            f"AIConfigurator's core estimates {exactly(estimate, 'block')} of "
            f"{exactly(result.block_tokens, 'token')}{beside}"
        )
    elif estimate:
        notes.append(f"AIConfigurator's core has no estimate: {estimate}")
    return notes


_MADE_OF = {"0.28.0": "Qwen3.8-27B on an H100", "0.14.1": "Llama-3.1-70B on an H200"}


def by_other_releases(found: Mapping[str, Capacity], result: Capacity, release: str) -> list[str]:
    """Say it if the working memory is no engine's own but a release's rule, with what others leave."""
    others = {name: other for name, other in found.items() if other.runtime_bytes != result.runtime_bytes}
    known = result.blocks_given or result.model.peak_activation_bytes is not None
    if known or not others:
        return []
    leaves = ", ".join(
        f"that of {name} leaves {exactly(other.pool_tokens, 'token')}" for name, other in others.items()
    )
    return [
        f"peak activation and CUDA graphs by a rule made of one log of vLLM {release}, {_MADE_OF[release]}; "
        f"{leaves} (--vllm)"
    ]


def _engine_lines(result: Capacity) -> list[Line]:
    """Return what each stage of an engine of several GPUs holds; nothing for one GPU."""
    parallel, shares = result.engine.parallel, result.engine.shares
    if parallel.gpus == 1:
        return []
    found = [Line("GPUs of a worker", str(parallel.gpus), _sizes(parallel))]
    if parallel.pipeline > 1:
        found += [
            Line(
                f"  stage {share.stage}",
                format_bytes(share.weights_bytes),
                f"weights a GPU, {exactly(share.layers, 'layer')}",
            )
            for share in shares
        ]
        found.append(Line("counted below", f"stage {result.share.stage}", "it has least room for KV blocks"))
    return found


def _sizes(parallel: Parallel) -> str:
    experts = ", experts whole" if parallel.expert else ""
    return f"tensor {parallel.tensor} x pipeline {parallel.pipeline} x data {parallel.data}{experts}"


def _weight_lines(result: Capacity) -> list[Line]:
    model, share = result.model, result.share
    parts = [
        Line(
            f"  {part.label}",
            f"{part.params / 1e9:.2f}B",
            f"{part.formula}, {part.bytes_per_param:.4g} B each",
        )
        for part in share.weight_parts
    ]
    unknown = model.weights_loaded_bytes is None
    return [
        *parts,
        Line("weights as computed", format_bytes(share.weights_computed_bytes, 1), "sum of the above"),
        Line(
            "weights as loaded",
            format_bytes(share.weights_bytes),
            "not known: as computed" if unknown else _as_loaded(result),
        ),
    ]


def _as_loaded(result: Capacity) -> str:
    whole = result.engine.parallel.gpus == 1
    return (
        "from the engine's log; these count"
        if whole
        else "as much more as the log of one GPU has; these count"
    )


def _pool_lines(result: Capacity) -> list[Line]:
    gpu, share, taken = result.gpu, result.share, result.runtime
    return [
        Line(
            "usable memory",
            format_bytes(result.usable_bytes),
            f"{format_bytes(gpu.memory_bytes)} x {result.gpu_memory_utilization}",
        ),
        Line("runtime", format_bytes(result.runtime_bytes), _runtime(taken)),
        Line(
            "KV pool",
            format_bytes(result.pool_bytes),
            f"{exactly(result.num_blocks, 'block')}, given"
            if result.blocks_given
            else " - ".join(map(_gib, (result.usable_bytes, share.weights_bytes, taken.total))),
        ),
    ]


def _runtime(taken: Runtime) -> str:
    sizes = [taken.context, taken.activation, taken.graphs]
    names = ["CUDA context", "peak activation", "CUDA graphs"]
    if taken.communication:
        sizes, names = [*sizes, taken.communication], [*names, "communication"]
    return f"{' + '.join(map(_gib, sizes))}: {', '.join(names)}"


def _block_lines(result: Capacity) -> list[Line]:
    model, share = result.model, result.share
    blocks = f"{result.num_blocks:,}"
    found = _cache_lines(share, result)
    return [
        *found,
        Line("block", exactly(result.block_tokens, "token"), f"{format_bytes(result.block_bytes)}"),
        Line("KV blocks", blocks, "given" if result.blocks_given else "KV pool / block"),
        _pool_tokens(result),
        Line(
            "maximum concurrency",
            f"{result.max_concurrency:.3f}x",
            f"sequences of {exactly(model.max_model_len, 'token')}",
        ),
    ]


def _pool_tokens(result: Capacity) -> Line:
    if result.model.windows is None:
        arithmetic = f"{result.num_blocks:,} x {result.block_tokens:,}"
        return Line("tokens in the pool", f"{result.pool_tokens:,}", arithmetic)
    counted = int(result.max_concurrency * result.model.max_model_len)
    return Line(
        "tokens in the pool", f"{counted:,}", "as the log counts them: in sequences of greatest length"
    )


def _cache_lines(share: GpuShare, result: Capacity) -> list[Line]:
    found = []
    if share.kv_layers:
        found.append(
            Line(
                "KV cache of a token",
                format_bytes(share.kv_bytes_per_token),
                f"{share.kv_bytes_per_token // share.kv_layers:,} B x {exactly(share.kv_layers, 'layer')}",
            )
        )
    if share.state_layers:
        found.append(
            Line(
                "state of a sequence",
                format_bytes(share.state_bytes_per_sequence, 1),
                f"{share.state_bytes_per_sequence // share.state_layers:,} B x "
                f"{exactly(share.state_layers, 'layer')}",
            )
        )
    groups = result.engine.layout.groups
    if len(groups) == 1 and not groups[0].spec.window_tokens:
        return found
    for number, (spec, layers) in enumerate(groups):
        window = f" of {spec.window_tokens:,}" if spec.window_tokens else ""
        kind = _KINDS[spec.kind].format(window)
        found.append(
            Line(
                f"cache group {number}",
                exactly(layers, "layer"),
                f"{kind}, blocks of {exactly(spec.block_tokens, 'token')}",
            )
        )
    return found


def _session_lines(result: Capacity) -> list[Line]:
    share, session = result.share, result.session
    grouped = len(result.engine.layout.groups) > 1 or session.cold != session.grown
    size = session.tokens * share.kv_bytes_per_token + share.state_bytes_per_sequence
    state = f" + {format_bytes(share.state_bytes_per_sequence, 1)}" if share.state_layers else ""
    arithmetic = f"{session.tokens:,} x {format_bytes(share.kv_bytes_per_token)}{state}"
    if result.model.windows:
        size, arithmetic = (
            session.grown * result.block_bytes,
            f"{exactly(session.grown, 'block')}, with what its windows read",
        )
    found = [Line(f"session of {exactly(session.tokens, 'token')}", format_bytes(size, 1), arithmetic)]
    places = [("GPU", result.idle, f"{result.num_blocks - 1:,}")]
    places += [(f"{format_bytes(tier.n_bytes)} of host", tier, f"{tier.blocks:,}") for tier in result.host]
    for place, tier, blocks in places:
        if not grouped:
            found.append(
                Line(
                    f"  kept in {place}",
                    str(tier.grown_sessions),
                    f"{blocks} / {exactly(session.grown, 'block')}",
                )
            )
            continue
        found += [
            Line(
                f"  kept in {place}, grown",
                str(tier.grown_sessions),
                f"{blocks} / {exactly(session.grown, 'block')}",
            ),
            Line(
                f"  kept in {place}, cold",
                str(tier.cold_sessions),
                f"{blocks} / {exactly(session.cold, 'block')}",
            ),
        ]
    if grouped:
        found += [
            Line(
                "  cold, running at once",
                str(result.running_cold_async),
                f"asynchronous scheduling: {exactly(session.cold_prefill_async, 'block')} in prefill, then "
                f"{session.cold_decode_async:,}",
            ),
            Line(
                "",
                str(result.running_cold_sync),
                f"synchronous: {exactly(session.cold_prefill_sync, 'block')} in prefill, then "
                f"{session.grown:,}",
            ),
        ]
    return found


def _gib(n_bytes: int) -> str:
    return f"{n_bytes / 2**30:.2f}"
