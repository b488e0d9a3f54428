"""Taps of vllm-vcr: a head with the block size, then a request a line, in the order of their ends.

`arrival_ms`, `prompt_tokens`, `output_tokens`, `cached_tokens` of the engine, `ttft_ms`, `itl_ms` between
tokens, and `block_hashes` (64 bits, each of the whole prefix) of full blocks.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from sim.base.errors import InputError, shown
from sim.base.sums import added
from sim.workload.findings import Findings
from sim.workload.formats.reader import Reader
from sim.workload.formats.records import RecordFormat
from sim.workload.formats.values import LARGEST_TIME, Ids, length, time, whole
from sim.workload.recorded import Recorded
from sim.workload.row import Row


class TapReader(Reader):
    """Reads such taps."""

    def __init__(self, findings: Findings) -> None:
        super().__init__(findings)
        self._ids = Ids()

    def rows(self, record: Mapping[str, Any], line: int) -> Iterable[Row]:
        """Return the request of an object, nothing for a head; raises InputError."""
        if (meta := record.get("meta")) is not None:
            if not isinstance(meta, Mapping):
                raise InputError(f"meta = {shown(meta)}: must be a JSON object")
            block = length("meta.block_size", meta.get("block_size"), 1)
            if self.chunk_tokens not in (None, block):
                raise InputError(f"meta.block_size = {block}: an earlier head has {self.chunk_tokens}")
            self.chunk_tokens = block
            return ()
        gaps = record.get("itl_ms")
        if gaps is not None and type(gaps) is not list:
            raise InputError(f"itl_ms = {shown(gaps)}: must be a list of times")
        ttft = None if record.get("ttft_ms") is None else time("ttft_ms", record["ttft_ms"], 0)
        service = None
        if ttft is not None and gaps is not None:
            service = (ttft + added([time("itl_ms", gap, 0) for gap in gaps])) / 1e3
        cached = record.get("cached_tokens")
        if record.get("arrival_ms") is None:
            raise InputError("arrival_ms is missing")
        return (
            Row(
                line,
                None,
                None,
                time("arrival_ms", record["arrival_ms"], -LARGEST_TIME),
                None,
                length("prompt_tokens", record.get("prompt_tokens"), 1),
                length("output_tokens", record.get("output_tokens"), 0),
                self._ids.read("block_hashes", record.get("block_hashes"), empty=True),
                recorded=Recorded(
                    service,
                    None if ttft is None else ttft / 1e3,
                    None if cached is None else whole("cached_tokens", cached, 0, 10**9),
                ),
            ),
        )


def _tells(record: Mapping[str, Any]) -> bool:
    meta = record.get("meta")
    return (isinstance(meta, Mapping) and "block_size" in meta) or {
        "prompt_tokens",
        "block_hashes",
        "arrival_ms",
    } <= record.keys()


FORMAT = RecordFormat(
    name="vllm-vcr",
    tells=_tells,
    reader=TapReader,
    units_per_s=1000.0,
    ends="floor",
    answers="returned",
)
