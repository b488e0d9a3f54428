"""What a page calls workers: by number, and by what they do where prefill and decode are apart."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorkerNames:
    """The workers of a cluster; the first `prefill` of them only compute prompts, if there are such."""

    count: int
    prefill: int | None = None

    def long(self, worker: int) -> str:
        """Return "worker 3", "prefill worker 0" or "decode worker 2", numbered as in the run's tables."""
        role = "" if self.prefill is None else "prefill " if worker < self.prefill else "decode "
        return f"{role}worker {worker}"

    def short(self, worker: int) -> str:
        """Return "W3", "P0" or "D2"."""
        letter = "W" if self.prefill is None else "P" if worker < self.prefill else "D"
        return f"{letter}{worker}"
