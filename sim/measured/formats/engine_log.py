"""The log of a vLLM engine (0.28.0, 0.33.0), its own or Dynamo's around it: which release, block and kernel.

Text, coloured or not, or JSONL. What is read are vLLM's own messages, wherever in a line they stand: the
banner of its server, "Initializing a V1 LLM engine (v0.33.0)", "Setting attention block size to 832 tokens".
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sim.base.reading import lines

_COLOURS = re.compile(rb"(?:\x1b|\\u001b)\[[0-9;]*m")
_RELEASES = (
    re.compile(rb"Initializing a V1 LLM engine \(v([^\s()]+)\)"),
    re.compile(rb"vLLM (?:API )?server version ([^\s,\"]+)"),
    # The logo, three lines of blocks; JSON has them as escapes.
    re.compile(rb"(?:\xe2\x96\x88|\\u2588) +version +([^\s\\\"]+)"),
)
_BLOCK = re.compile(rb"Setting attention block size to (\d+) tokens")
_KERNEL = re.compile(rb"Using ([^\"\\]+?) GDN prefill kernel \(requested=")
_KNOWN = re.compile(
    rb"|".join([*(found.pattern for found in _RELEASES), _BLOCK.pattern, _KERNEL.pattern])
    + rb"|\((?:APIServer|EngineCore|Worker)\w* pid=\d+\)"
    + rb"|\"processName\": ?\"(?:APIServer|EngineCore|Worker)"
)
_HINTS = (b"server version", b"V1 LLM", b"block size", b"GDN prefill", b"\xe2\x96\x88", b"\\u2588")
"""One of them stands in every line that is read."""


@dataclass(frozen=True, slots=True)
class EngineLog:
    """What logs of one engine say, each thing once, in order; mostly one of each."""

    releases: tuple[str, ...] = ()
    """Of vLLM: "0.33.0"."""
    block_tokens: tuple[int, ...] = ()
    """Tokens of a hybrid model's block, where vLLM enlarged it."""
    gdn_kernels: tuple[str, ...] = ()
    """Kernels for prefills of gated delta nets: "FlashInfer", "Triton/FLA"."""


def is_engine_line(line: bytes) -> bool:
    """Whether a line is one of an engine's log, and not of just any program of vLLM's."""
    return _KNOWN.search(_COLOURS.sub(b"", line)) is not None


def read_engine_log(*paths: Path) -> EngineLog:
    """Return what the logs of one engine say, plain or gzipped.

    Raises:
        InputError: a file cannot be read.

    """
    releases: list[str] = []
    blocks: list[str] = []
    kernels: list[str] = []
    for path in paths:
        for _, line in lines(path):
            if any(hint in line for hint in _HINTS):
                text = _COLOURS.sub(b"", line)
                releases += _all(_RELEASES, text)
                blocks += _all((_BLOCK,), text)
                kernels += _all((_KERNEL,), text)
    return EngineLog(
        tuple(dict.fromkeys(releases)),
        tuple(dict.fromkeys(map(int, blocks))),
        tuple(dict.fromkeys(kernels)),
    )


def _all(patterns: Iterable[re.Pattern[bytes]], line: bytes) -> list[str]:
    found = (pattern.search(line) for pattern in patterns)
    return [match[1].decode("utf-8", "replace") for match in found if match]
