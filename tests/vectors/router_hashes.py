"""The names that the real router gives to blocks of tokens, against the core's identities.

The core has no hashes: a block's identity is a number of its own for each prefix. They serve as well if two
blocks have equal identities exactly where they have equal hashes, of which the documented function of the
tokens is computed again: XXH3 of 64 bits, seed 1337, of a block's tokens as 32-bit numbers; of a prefix, of
the name of the prefix before it and that of its last block.
"""

from collections.abc import Iterator, Sequence
from struct import pack

from sim.kv.prefix import PrefixTable
from tests.vectors.router_tally import Row, Rows, Tally, unlike

SEED = 1337


def xxh3(data: bytes) -> int:
    """Return the hash of bytes."""
    from xxhash import xxh3_64_intdigest  # who has no recordings of hashes does without the package

    return int(xxh3_64_intdigest(data, seed=SEED))


def local_hash(tokens: Sequence[int]) -> int:
    """Return the name of one block's tokens."""
    return xxh3(pack(f"<{len(tokens)}I", *tokens))


def sequence_hashes(local_hashes: Sequence[int]) -> list[int]:
    """Return the name of each prefix of whole blocks."""
    hashes: list[int] = []
    for local in local_hashes:
        hashes.append(xxh3(pack("<2Q", hashes[-1], local)) if hashes else local)
    return hashes


def tokens_of(row: Row) -> list[int]:
    """Return a recorded prompt."""
    if "tokens" in row:
        return list(row["tokens"])
    full = [token for token in row["prompt_blocks"] for _ in range(row["block_size"])]
    return full + [0] * row["tail_tokens"]


class Names:
    """Identities and hashes of blocks so far, each by the other."""

    def __init__(self, block_tokens: int) -> None:
        self._prefixes = PrefixTable(1, block_tokens)
        self._hash_of: dict[int, int] = {}
        self._id_of: dict[int, int] = {}

    def unlike(self, tokens: Sequence[int], hashes: Sequence[int]) -> Iterator[str]:
        """Compare the blocks of a prompt with all before: equal in one way, equal in the other."""
        blocks = self._prefixes.add(tokens, len(tokens)).blocks if tokens else ()
        yield from unlike("full blocks", len(hashes), len(blocks))
        for name, block in zip(hashes, blocks, strict=False):
            yield from unlike(f"hash of block {block}", name, self._hash_of.setdefault(block, name))
            yield from unlike(f"block of hash {name}", block, self._id_of.setdefault(name, block))


def replay_hashes(rows: Rows, tally: Tally) -> None:
    """Compare every recorded prompt."""
    names: dict[int, Names] = {}
    for where, row in rows:
        size, tokens = row["block_size"], tokens_of(row)
        local = [local_hash(tokens[at : at + size]) for at in range(0, len(tokens) - size + 1, size)]
        found = [
            *unlike("local_block_hashes", row["local_block_hashes"], local),
            *unlike("sequence_hashes", row["sequence_hashes"], sequence_hashes(local)),
            *names.setdefault(size, Names(size)).unlike(tokens, row["sequence_hashes"]),
        ]
        tally.compared("prompts whose blocks are named", where, found)
