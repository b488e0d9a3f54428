"""Makes calibration/qwen3-8b-bf16_a100-40gb-eager.toml anew: `python -m tests.calibration.eager_file`.

From the tables of the A100 of 80 GB: what memory bandwidth bounds is scaled to the card of 40 GB, and what
eager mode adds is said.
"""

from sim.base.shipped import preset, shipped_root
from sim.hardware.coefficient_file import Coefficient, CoefficientFile, read_coefficient_file
from sim.hardware.coefficient_toml import rounded, to_toml
from sim.hardware.model import GpuSettings, ModelSettings

FOLDER = shipped_root() / "calibration"
NAME = "qwen3-8b-bf16_a100-40gb-eager"
HEAD = [
    "Step times of qwen3-8b-bf16 on a100-40gb, eager mode, made by tests/calibration/eager_file.py.",
    'From aic/qwen3-8b-bf16_a100-80gb-aic.toml; see README.md, "Eight A100".',
]

ELEMENTWISE_S_PER_TOKEN = 25.55e-3 / 8192
"""Element-wise operations of a prompt of 8,192 tokens in the tables of the A100 of 80 GB, a token: norms with
the sums before them, and the gate; all are formulas of bytes over 80 % of the bandwidth."""
ACHIEVED_SHARE = 0.8
"""Of the bandwidth, as the tables have it for such operations."""
MIXED_SHARE = 0.72
"""Decode attention beside prefill costs so much more: 40.78 against 56.54 ns a token of context of
Qwen3-14B on an H100 (`qwen3-14b-bf16_h100-80gb.toml`, fitted to requests)."""
LAUNCH_S, LAUNCH_RANGE_S = 28e-3, (18e-3, 29e-3)


def unfused_bytes_per_token(model: ModelSettings) -> int:
    """Return what the tables leave out: norms of queries and keys, rotation, and writing the cache."""
    heads = model.attention_heads + model.kv_heads
    moved = 2 * (2 * heads * model.head_dim) + 2 * (2 * model.kv_heads * model.head_dim)
    return model.full_attention_layers * moved * 2


def content() -> CoefficientFile:
    """Return the file."""
    tables = read_coefficient_file(FOLDER / "aic" / "qwen3-8b-bf16_a100-80gb-aic.toml")
    model = ModelSettings.model_validate(preset("models", "qwen3-8b-bf16"))
    old, new = (
        GpuSettings.model_validate(preset("gpus", name)).memory_bandwidth_bytes_per_s
        for name in ("a100-80gb", "a100-40gb")
    )
    slower = old / new
    unfused_s = unfused_bytes_per_token(model) / (ACHIEVED_SHARE * new)
    more_s = ELEMENTWISE_S_PER_TOKEN * (slower - 1) + unfused_s
    step = dict(tables.step)
    floor, per_token, read = step["t_floor_s"], step["c_tok_s_per_token"], step["c_kv_s_per_token"]
    scaled = f"; times {slower:.3f}, as the 40 GB card's memory is slower: assumed"
    step["t_floor_s"] = _times(floor, slower, scaled)
    step["c_kv_s_per_token"] = _times(read, slower, scaled)
    step["c_tok_s_per_token"] = _times(
        per_token,
        1 + more_s / per_token.value,
        f"; {more_s * 1e6:.2f} us more: element-wise operations at 1.555 TB/s and those the tables lack",
    )
    step["c_mixed_s_per_token"] = _times(
        step["c_kv_s_per_token"],
        MIXED_SHARE,
        "; a prefill's kernel reads for decodes too: share of c_kv_s_per_token as fitted on an H100",
        lowest=0.0,
    )
    for name in ("c_pf_s", "c_step_s"):
        step[name] = Coefficient(
            value=0.0, range=(0.0, 2e-3), source="not in the tables; the host, see t_launch_s"
        )
    step["t_launch_s"] = Coefficient(
        value=LAUNCH_S,
        range=LAUNCH_RANGE_S,
        source=(
            "fitted to one published number, the median of a request's mean gap between tokens, 8 workers "
            "behind a round robin; "
            "Qwen2.5-Omni-7B on A800 takes 22 to 23 ms a token in eager mode and 13 with graphs "
            "(vllm-omni issue 7960)"
        ),
    )
    return CoefficientFile(
        model="qwen3-8b-bf16",
        gpu="a100-40gb",
        formats=tables.formats,
        origin="aiconfigurator",
        summary=(
            "kernel tables of AIConfigurator 0.12.0 for an A100 of 80 GB, what memory bounds scaled to the "
            "40 GB card (assumed), eager mode; the time to launch a step's kernels is fitted to one "
            "published number"
        ),
        step=step,
        frontend=tables.frontend,
        dense=tables.dense,
    )


def _times(entry: Coefficient, factor: float, why: str, lowest: float | None = None) -> Coefficient:
    value, (low, high) = rounded(entry.value * factor), entry.range
    return Coefficient(
        value=value,
        range=(
            min(rounded(low * factor), value) if lowest is None else lowest,
            max(rounded(high * factor), value),
        ),
        source=entry.source + why,
    )


def text() -> str:
    """Return the file as it is shipped."""
    return to_toml(content(), HEAD)


if __name__ == "__main__":
    (FOLDER / f"{NAME}.toml").write_text(text(), encoding="utf-8")
