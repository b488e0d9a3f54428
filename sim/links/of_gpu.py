"""The links that a GPU has where nothing else is said: PCIe of its generation, and NVLink or PCIe to others.

The defaults of the settings are those of an H100: PCIe 5.0 and NVLink. Every generation of PCIe doubles the
rate of the one before.
"""

from sim.hardware.gpu import GpuSettings
from sim.links.settings import NetworkSettings
from sim.links.transfer import LinkSettings

_PCIE_OF_DEFAULTS = 5
_BANDWIDTH = "bandwidth_bytes_per_s"


def host_link_of(gpu: GpuSettings, link: LinkSettings) -> LinkSettings:
    """Return the link between a GPU and its host; a bandwidth that was given stays."""
    if gpu.pcie_generation == _PCIE_OF_DEFAULTS or _BANDWIDTH in link.model_fields_set:
        return link
    factor = 2.0 ** (gpu.pcie_generation - _PCIE_OF_DEFAULTS)
    return link.model_copy(update={_BANDWIDTH: factor * link.bandwidth_bytes_per_s})


def network_of_gpu(gpu: GpuSettings, network: NetworkSettings) -> NetworkSettings:
    """Return the links between workers: without NVLink, the GPUs of a node reach each other over PCIe."""
    if gpu.joined_by == "nvlink" or _BANDWIDTH in network.nvlink.model_fields_set:
        return network
    pcie = host_link_of(gpu, LinkSettings()).bandwidth_bytes_per_s
    return network.model_copy(update={"nvlink": network.nvlink.model_copy(update={_BANDWIDTH: pcie})})
