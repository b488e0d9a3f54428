"""Hash ids of finer chunks than those of a file."""

from array import array


class FinerIds:
    """Ids of the finer chunks, each of one place in a chunk of the file, or of a session's own."""

    def __init__(self, grain: int) -> None:
        self._grain = grain
        self._first: dict[tuple[int, int, int], int] = {}
        """The first finer id of a chunk, of those that are so large, with so many tokens: a shorter one is
        another text."""
        self._next = 0

    def of(self, chunks: "array[int]", chunk_tokens: int, tokens: int) -> "array[int]":
        """Return the ids of a prompt."""
        found = array("Q")
        for chunk in chunks:
            size = min(chunk_tokens, tokens)
            tokens -= size
            first = self._first.get((chunk_tokens, chunk, size))
            n = -(-size // self._grain)
            if first is None:
                first = self._first[chunk_tokens, chunk, size] = self._next
                self._next += n
            found.extend(range(first, first + n))
        return found

    def fresh(self, n: int) -> range:
        """Return so many ids that nothing had before."""
        self._next += n
        return range(self._next - n, self._next)
