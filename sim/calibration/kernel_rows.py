"""Which rows of kernel tables speak for a model: its number formats, its kind of head, the newest version.

Where a rate is wanted, short calls are left out: their time is launches and tiles that are not full.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from sim.base.errors import InputError
from sim.calibration.kernel_fit import Kernel
from sim.calibration.kernel_laws import (
    KernelLaw,
    decode_attention,
    gdn_convolution,
    gdn_convolution_update,
    gdn_scan,
    gdn_update,
    matrix_product,
    prefill_attention,
)
from sim.calibration.kernel_tables import KernelTable, Kind
from sim.calibration.model_kernels import matrices
from sim.hardware.model import DTYPE_BYTES, ModelSettings

if TYPE_CHECKING:
    import pandas as pd

LEAST_PREFILL_TOKENS = 1024
LEAST_DECODE_TOKENS = 512
LEAST_GDN_TOKENS = 256

_GEMM_FORMATS = {"fp8": "fp8_block", "bf16": "bfloat16", "fp16": "float16"}
_KV_FORMATS = {"fp8": "fp8", "bf16": "bfloat16", "fp16": "float16"}
_GDN: tuple[tuple[str, str, str, KernelLaw], ...] = (
    ("gdn convolution", "context", "conv1d", gdn_convolution()),
    ("gdn scan", "context", "delta", gdn_scan()),
    ("gdn convolution update", "generation", "conv1d", gdn_convolution_update()),
    ("gdn update", "generation", "delta", gdn_update()),
)
"""Short name, phase, part of the kernel's name, law."""


def kernels(
    tables: Mapping[Kind, KernelTable], model: ModelSettings, version: str | None = None
) -> dict[str, Kernel]:
    """Return what is to be fitted for a model, by short name.

    Those are "weights" and "head" (products with matrices of the layers' format and of the head's),
    "prefill", "decode" and, for a model with recurrent layers, the four of a gated delta net.

    Args:
        tables: by what they are of.
        model: whose kernels.
        version: of vLLM; the newest in each table that measured the model's formats if not given.

    Raises:
        InputError: a table is missing, or has no rows of the model's formats or of this version.

    """
    rows = _Rows(tables, version)
    found = {
        "weights": rows.gemm(model.weights_dtype, model),
        "head": rows.gemm(model.dtype, model),
        "prefill": rows.attention("prefill attention", "seq_len", LEAST_PREFILL_TOKENS, model),
        "decode": rows.attention("decode attention", "context_len", LEAST_DECODE_TOKENS, model),
    }
    if model.linear_attention_layers:
        found |= {name: rows.gdn(name, phase, part, law, model) for name, phase, part, law in _GDN}
    return found


class _Rows:
    """The rows of some tables, of one version of vLLM or the newest."""

    def __init__(self, tables: Mapping[Kind, KernelTable], version: str | None) -> None:
        self._tables = tables
        self._version = version

    def gemm(self, dtype: str, model: ModelSettings) -> Kernel:
        written = _GEMM_FORMATS[dtype]
        table, rows = self._chosen("gemm", {"gemm_dtype": written})
        own = {(matrix.n_out, matrix.k_in) for matrix in matrices(model) if matrix.dtype == dtype}
        law = matrix_product(DTYPE_BYTES[dtype])
        return _kernel(f"GEMM {written}", table, rows, law=law, shape=("n_out", "k_in"), own=own)

    def attention(self, kind: Kind, length: str, least: int, model: ModelSettings) -> Kernel:
        written = _KV_FORMATS[model.kv_dtype]
        table, rows = self._chosen(kind, {"kv_dtype": written, "head_dim": model.head_dim})
        law = prefill_attention if kind == "prefill attention" else decode_attention
        return _kernel(
            f"{kind} {written}, head {model.head_dim}",
            table,
            rows[rows[length] >= least],
            law=law(DTYPE_BYTES[model.kv_dtype]),
            shape=("q_heads", "kv_heads"),
            own={(model.attention_heads, model.kv_heads)},
        )

    def gdn(self, name: str, phase: str, part: str, law: KernelLaw, model: ModelSettings) -> Kernel:
        table, rows = self._chosen("gdn", {"phase": phase})
        is_convolution = rows["kernel"].str.contains("conv1d")
        rows = rows[is_convolution if part == "conv1d" else ~is_convolution]
        if phase == "context":
            rows = rows[rows["batch"] * rows["seq_len"] >= LEAST_GDN_TOKENS]
        own = {(model.linear_key_heads, model.linear_value_heads)}
        return _kernel(name, table, rows, law=law, shape=("k_heads", "v_heads"), own=own)

    def _chosen(self, kind: Kind, wanted: Mapping[str, str | int]) -> "tuple[KernelTable, pd.DataFrame]":
        """Return the rows of a table with these values."""
        if kind not in self._tables:
            given = ", ".join(self._tables) or "none"
            raise InputError(f"a table of {kind} is missing; given: {given}")
        table = self._tables[kind]
        rows = table.rows
        for column, value in wanted.items():
            rows = _with_value(table, rows, column, value)
        versions = rows["vllm_version"].astype(str)
        version = self._version or max(versions.unique(), key=_number)
        return table, _with_value(table, rows.assign(vllm_version=versions), "vllm_version", version)


def _with_value(table: KernelTable, rows: "pd.DataFrame", column: str, value: str | int) -> "pd.DataFrame":
    found = rows[rows[column] == value]
    if found.empty:
        known = ", ".join(sorted(map(str, rows[column].unique())))
        raise InputError(f"{table.file}: no row has {column} = {value}; there are {known}")
    return found


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdecimal() else 0 for part in version.split("."))


def _kernel(
    name: str,
    table: KernelTable,
    rows: "pd.DataFrame",
    *,
    law: KernelLaw,
    shape: tuple[str, str],
    own: set[tuple[int, int]],
) -> Kernel:
    if rows.empty:
        raise InputError(f"{table.file}: no row of {name} is long enough to show a rate")
    shapes = list(zip(*(rows[column].astype(int) for column in shape), strict=True))
    numbers = {pair: number for number, pair in enumerate(sorted(set(shapes)))}
    numeric = rows.select_dtypes("number")
    return Kernel(
        name,
        rows["vllm_version"].iloc[0],
        table.file,
        law,
        {column: numeric[column].to_numpy(dtype=float) for column in numeric.columns},
        rows["latency_us"].to_numpy(dtype=float) * 1e-6,
        np.array([numbers[pair] for pair in shapes]),
        frozenset(numbers[pair] for pair in own & set(numbers)),
    )
