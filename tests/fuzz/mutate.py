"""Small damages to the bytes of a file, drawn from a seeded generator."""

import gzip
import random
import re
from collections.abc import Callable, Sequence

PIECES = (
    *(b"0", b"-1", b"1e400", b"1e308", b"-1e308", b"1e-320", b"NaN", b"Infinity", b"inf", b"nan", b"true"),
    *(
        b"null",
        b"none",
        b'""',
        b"[]",
        b"{}",
        b"18446744073709551616",
        b"9" * 400,
        b"9" * 5_000,
        b"0.5",
        b"1e15",
    ),
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\x1b[31m", b"\r\n", b"\n", b"\r", b"\t", b"\xe2\x80\xae"),
    *(b'"\\ud800"', b"'", b'"', b"\\", b"[bold]", b"</script>", b"$x^$", b"%s", b"{0}", b"../", b"~no/x"),
    *(
        b"[" * 60,
        b"[" * 3_000,
        b'{"a":' * 3_000,
        b"a." * 500 + b"b",
        b"a=1\n" * 300,
        b",",
        b":",
        b"=",
        b"x" * 3_000,
    ),
    *(b"1_000", b"64GiB", b"250ms", b"1e9h", b"-0", b"2026-01-01", b"0x10", b"/dev/zero", b"x" * 300),
)
"""What parsers stumble over."""

Mutation = Callable[[random.Random, bytes], bytes]


def mutated(draw: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Return one of the seeds with some damages."""
    content = draw.choice(seeds)
    for _ in range(draw.choice((1, 1, 2, 3, 5, 8))):
        content = draw.choice(_MUTATIONS)(draw, content)
    if draw.random() < 0.03:
        content = gzip.compress(content)
        content = _cut(draw, content) if draw.random() < 0.5 else content
    if draw.random() < 0.03:
        content = _splice(draw, content, draw.choice(seeds))
    return content[:200_000]


def _flip(draw: random.Random, content: bytes) -> bytes:
    if not content:
        return b"x"
    place = draw.randrange(len(content))
    return content[:place] + bytes([draw.randrange(256)]) + content[place + 1 :]


def _insert(draw: random.Random, content: bytes) -> bytes:
    place = draw.randrange(len(content) + 1)
    return content[:place] + draw.choice(PIECES) + content[place:]


def _value(draw: random.Random, content: bytes) -> bytes:
    """Put something else in place of a number, a quoted text or a word."""
    found = [*re.finditer(rb'-?\d[\d.e+-]*|"[^"\n]{0,80}"|[A-Za-z_]{2,30}', content)]
    if not found:
        return content
    chosen = draw.choice(found)
    other = draw.choice((*PIECES, draw.choice(found)[0]))
    return content[: chosen.start()] + other + content[chosen.end() :]


def _line(draw: random.Random, content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    if not lines:
        return content
    place, other = draw.randrange(len(lines)), draw.choice(lines)
    match draw.randrange(4):
        case 0:
            del lines[place]
        case 1:
            lines.insert(place, other)
        case 2:
            lines.insert(place, lines[place] * draw.choice((2, 50)))
        case _:
            lines[place] = other
    return b"".join(lines)


def _cut(draw: random.Random, content: bytes) -> bytes:
    return content[: draw.randrange(len(content) + 1)]


def _drop(draw: random.Random, content: bytes) -> bytes:
    start = draw.randrange(len(content) + 1)
    return content[:start] + content[start + draw.randrange(1, 40) :]


def _splice(draw: random.Random, content: bytes, other: bytes) -> bytes:
    return _cut(draw, content) + other[draw.randrange(len(other) + 1) :]


_MUTATIONS: tuple[Mutation, ...] = (
    _flip,
    _insert,
    _insert,
    _value,
    _value,
    _value,
    _line,
    _line,
    _cut,
    _drop,
)
