"""The wires between workers, as a scenario has them: NVLink inside a node, one card a node between nodes."""

from typing import Annotated

from pydantic import Field

from sim.base.settings import Settings
from sim.base.uncertainty import Range
from sim.base.units import BytesPerSecond, Seconds
from sim.links.sharing import Sharing


class NvlinkSettings(Settings):
    """NVLink of one GPU, in each direction, as NIXL uses it between two GPUs of a node."""

    bandwidth_bytes_per_s: Annotated[BytesPerSecond, Range(60e9, 240e9)] = Field(default=120e9, gt=0)
    """An estimate, good to a factor of 2. Measured: 0.5 (a pull that fell back to TCP, vLLM issue 52607) to
    344 GB/s (NCCL between the H100s of a node, Vidur's profiles)."""
    latency_s: Annotated[Seconds, Range(10e-3, 40e-3)] = 20e-3
    """Once for each transfer, before its first byte: an estimate, as no public measurement separates it;
    taken to be good to a factor of 2."""
    per_descriptor_s: Annotated[Seconds, Range(3.2e-6, 3.8e-6)] = 3.5e-6
    """For posting one descriptor, a contiguous piece. 129 ms for 40,064 (vLLM issue 34054) and 6.7 ms for
    1,785 (vLLM issue 50913) make 3.2 to 3.8 us."""


class RoceSettings(Settings):
    """The RoCE card of one node, in each direction: 100 Gbit/s, as NIXL uses it."""

    bandwidth_bytes_per_s: Annotated[BytesPerSecond, Range(4.3e9, 11.8e9, sigma=1.5e9)] = Field(
        default=9.3e9, gt=0
    )
    """NIXL read 9.2 to 9.3 GB/s over a 100 Gbit/s card, and 6.0 into a memory registration above 4 GiB
    (LMCache pull request 4432). Range 4.3 to 11.8 GB/s."""
    latency_s: Annotated[Seconds, Range(5e-3, 20e-3)] = 10e-3
    """Once for each transfer, before its first byte: an estimate, as for NVLink."""
    per_descriptor_s: Annotated[Seconds, Range(3.2e-6, 3.8e-6)] = 3.5e-6
    """For posting one descriptor: as for NVLink."""


Wire = NvlinkSettings | RoceSettings


class NetworkSettings(Settings):
    """The links between workers."""

    nvlink: NvlinkSettings = NvlinkSettings()
    """Inside a node."""
    roce: RoceSettings = RoceSettings()
    """Between nodes."""
    sharing: Sharing = "processor-sharing"
    """Transfers that meet on a link divide it, max-min fair, or with "fifo" go one after another."""
