"""Tables of kernel times, CSV or gzipped CSV with a header. What a table is of, its columns say.

    gemm               vllm_version, kernel, gemm_dtype, m_tokens, n_out, k_in
    prefill attention  vllm_version, kernel, kv_dtype, batch, seq_len, q_heads, kv_heads, head_dim
    decode attention   vllm_version, kernel, kv_dtype, batch, context_len, q_heads, kv_heads, head_dim
    gdn                vllm_version, kernel, phase, batch, seq_len, k_heads, v_heads

and each latency_us: the time of one call, of attention and gated delta net for one layer. Other columns do
not count.
"""

import gzip
import hashlib
import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sim.base.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["gemm", "prefill attention", "decode attention", "gdn"]

_TIME = "latency_us"
_ATTENTION = ("q_heads", "kv_heads", "head_dim")
_NUMBERS: dict[Kind, tuple[str, ...]] = {
    "gemm": ("m_tokens", "n_out", "k_in"),
    "prefill attention": ("batch", "seq_len", *_ATTENTION),
    "decode attention": ("batch", "context_len", *_ATTENTION),
    "gdn": ("batch", "seq_len", "k_heads", "v_heads"),
}
_NAMES: dict[Kind, tuple[str, ...]] = {
    "gemm": ("gemm_dtype",),
    "prefill attention": ("kv_dtype",),
    "decode attention": ("kv_dtype",),
    "gdn": ("phase",),
}


@dataclass(frozen=True, slots=True)
class KernelTable:
    """One file."""

    kind: Kind
    file: str
    """Its name, without .gz."""
    sha256: str
    """Fingerprint of the unpacked content."""
    rows: "pd.DataFrame"


def read_tables(paths: Sequence[Path]) -> dict[Kind, KernelTable]:
    """Return the tables of some files by kind.

    Raises:
        InputError: a file cannot be read, is of no kind, or of the same as another.

    """
    tables: dict[Kind, KernelTable] = {}
    for path in paths:
        table = read_table(path)
        if table.kind in tables:
            raise InputError(f"{path}: is a table of {table.kind}, as {tables[table.kind].file} is; give one")
        tables[table.kind] = table
    return tables


def read_table(path: Path) -> KernelTable:
    """Return the table of one file; what a row measures twice stays twice.

    Raises:
        InputError: it cannot be read, is of no kind, has no row, or a number is not above 0; names file, line
            and column.

    """
    import pandas as pd  # noqa: PLC0415 - slow to import

    content = _unpacked(path)
    try:
        rows = pd.read_csv(io.BytesIO(content))
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a CSV table: {error}") from error
    if not isinstance(rows.index, pd.RangeIndex):  # pandas takes what leads longer rows for their names
        raise InputError(f"{path}, line 2: has more values than the header has columns")
    kind = _kind(path, set(rows.columns))
    if rows.empty:
        raise InputError(f"{path}: holds no row")
    for column in (*_NUMBERS[kind], _TIME):
        numbers = pd.to_numeric(rows[column], errors="coerce")
        wrong = rows.index[~((numbers > 0) & (numbers < inf))]
        if len(wrong):
            value = rows[column][wrong[0]]
            raise InputError(
                f"{path}, line {wrong[0] + 2}: {column} = {value}: must be a finite number above 0"
            )
        rows[column] = numbers
    return KernelTable(kind, path.name.removesuffix(".gz"), hashlib.sha256(content).hexdigest(), rows)


def _unpacked(path: Path) -> bytes:
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if path.suffix == ".gz" else content
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def _kind(path: Path, columns: set[str]) -> Kind:
    missing = {
        kind: {"vllm_version", "kernel", _TIME, *_NAMES[kind], *_NUMBERS[kind]} - columns for kind in _NUMBERS
    }
    nearest = min(missing, key=lambda kind: len(missing[kind]))
    if missing[nearest]:
        lacks = ", ".join(sorted(missing[nearest]))
        raise InputError(f"{path}: no table of kernel times: the nearest kind, {nearest}, also has {lacks}")
    return nearest
