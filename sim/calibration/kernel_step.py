"""The coefficients of a step as the sum of a model's kernels."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sim.base.sums import added
from sim.calibration.kernel_laws import Rates, attention_traffic
from sim.calibration.model_kernels import Matrix, elementwise_bytes_per_token, matrices
from sim.hardware.model import DTYPE_BYTES, ModelSettings
from sim.hardware.step_time import smooth_max


class StepPart(NamedTuple):
    """One addend of a coefficient."""

    what: str
    s: float


Parts = Mapping[str, list[StepPart]]
"""Addends by coefficient, of all that are sums of times."""


def step_parts(model: ModelSettings, rates: Mapping[str, Rates]) -> Parts:
    """Return what each coefficient of the step-time law is made of.

    Args:
        model: whose step.
        rates: by the kernels' short names (`sim.calibration.kernel_rows.kernels`).

    """
    weights, head, prefill, decode = (rates[name] for name in ("weights", "head", "prefill", "decode"))
    *layers, output = matrices(model)
    bytes_per_token = _attention_bytes_per_token(model)
    parts = {
        "t_floor_s": [
            StepPart("weights of the layers", _bytes(layers) / weights["bytes_per_s"]),
            StepPart(
                "output head", output.n_out * output.k_in * DTYPE_BYTES[model.dtype] / head["bytes_per_s"]
            ),
        ],
        "c_tok_s_per_token": [
            StepPart("matrix products", _products_s(model, weights)),
            StepPart("element-wise operations", elementwise_bytes_per_token(model) / head["bytes_per_s"]),
            StepPart("attention's traffic", bytes_per_token / prefill["bytes_per_s"]),
        ],
        "a_pair_s": [StepPart("prefill attention", model.attention_flop_per_pair / prefill["flop_per_s"])],
        "c_kv_s_per_token": [StepPart("decode attention", model.kv_bytes_per_token / decode["bytes_per_s"])],
        "c_seq_s": [StepPart("output head", 2 * output.n_out * output.k_in / head["flop_per_s"])],
        "c_pf_s": [StepPart("launches of prefill attention", _of_layers(model, prefill["launch_s"]))],
        "c_step_s": [
            StepPart("launches of matrix products", sum(one.copies for one in layers) * weights["launch_s"]),
            StepPart("launch of the output head", head["launch_s"]),
            StepPart("launches of decode attention", _of_layers(model, decode["launch_s"])),
        ],
    }
    if model.linear_attention_layers:
        for name, part in _recurrent_parts(model, rates):
            parts[name].append(part)
    return parts


def step_values(model: ModelSettings, rates: Mapping[str, Rates]) -> dict[str, float]:
    """Return the coefficients of the step-time law in s, and its exponent."""
    values = {name: added(part.s for part in parts) for name, parts in step_parts(model, rates).items()}
    return values | {"smooth_max_p": rates["weights"]["p"]}


def _products_s(model: ModelSettings, rates: Rates) -> float:
    """Return the time of a token in the layers' products, if there are many: arithmetic, a little traffic."""
    narrow, wide = DTYPE_BYTES[model.weights_dtype], DTYPE_BYTES["bf16"]
    return added(
        one.copies
        * smooth_max(
            2 * one.n_out * one.k_in / rates["flop_per_s"],
            (narrow * one.k_in + wide * one.n_out) / rates["bytes_per_s"],
            rates["p"],
        )
        for one in matrices(model)[:-1]
    )


def _bytes(found: Sequence[Matrix]) -> int:
    return sum(one.n_out * one.k_in * one.copies * DTYPE_BYTES[one.dtype] for one in found)


def _of_layers(model: ModelSettings, s: float) -> float:
    return model.full_attention_layers * s


def _attention_bytes_per_token(model: ModelSettings) -> float:
    moved = attention_traffic(
        model.attention_heads, model.kv_heads, model.head_dim, DTYPE_BYTES[model.kv_dtype]
    )
    return model.full_attention_layers * moved


def _recurrent_parts(model: ModelSettings, rates: Mapping[str, Rates]) -> list[tuple[str, StepPart]]:
    """Return what gated delta nets add, for one prompt at a time: its scan does not fill the GPU."""
    conv, scan = rates["gdn convolution"], rates["gdn scan"]
    conv_update, update = rates["gdn convolution update"], rates["gdn update"]
    layers, heads = model.linear_attention_layers, model.linear_value_heads
    channels = 2 * model.linear_key_heads * model.linear_key_head_dim + heads * model.linear_value_head_dim
    conv_s = channels * 2 * DTYPE_BYTES["bf16"] / conv["bytes_per_s"]
    scan_s = max(scan["alone_s_per_token"], scan["full_s_per_token_and_head"] * heads)
    updates_s = conv_update["s_per_channel"] * channels + update["s_per_head"] * heads
    starts_s = conv["launch_s"] + scan["launch_s"] + scan["s_per_head"] * heads
    return [
        ("c_tok_s_per_token", StepPart("gated delta nets", layers * (conv_s + scan_s))),
        ("c_seq_s", StepPart("recurrent states", layers * updates_s)),
        ("c_pf_s", StepPart("launches of gated delta nets", layers * starts_s)),
        (
            "c_step_s",
            StepPart("launches of their updates", layers * (conv_update["launch_s"] + update["launch_s"])),
        ),
    ]
