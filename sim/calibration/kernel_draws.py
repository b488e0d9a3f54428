"""How sure rates from kernel tables are for one model: joint draws of all of them.

A draw fits every law anew to shapes drawn with replacement. Then it lets the model's own kernels deviate from
the laws, each as one shape of the table does that is drawn for it: more rows do not make a law truer.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sim.base.uniform import draw_bits
from sim.calibration.kernel_fit import Kernel, resampled
from sim.calibration.kernel_laws import Rates
from sim.calibration.model_kernels import matrices
from sim.hardware.model import ModelSettings


def drawn_rates(model: ModelSettings, kernels: Mapping[str, Kernel], k: int) -> dict[str, Rates]:
    """Return draw `k`, from 1 on, of the rates of all kernels, by short name."""
    *layers, output = matrices(model)
    sizes = {"weights": [one.n_out * one.k_in * one.copies for one in layers], "head": [output.n_out]}
    found = {}
    for name, kernel in kernels.items():
        law = rates = resampled(kernel, k)
        for chosen, rows in _regimes(kernel, law).items():
            log_slower = _deviation(kernel, law, rows, sizes.get(name, [1]), (k, f"{name} {chosen}"))
            rates = _slower(rates, chosen, float(np.exp(log_slower)))
        found[name] = rates
    return found


def _regimes(kernel: Kernel, rates: Rates) -> dict[str, NDArray[np.bool_]]:
    """Return which rows tell how a shape deviates, for each rate apart, or "" for all rates together.

    A matrix may be fast to read and slow to multiply with; a row shows the one that it is limited by.
    """
    if "p" not in rates:
        return {"": np.ones(len(kernel.shape), dtype=bool)}
    ideal = {name: float("inf") for name in ("flop_per_s", "bytes_per_s")}
    work, traffic = (
        kernel.law.time_s({**rates, **ideal, "launch_s": 0.0, name: rates[name]}, kernel.sizes)
        for name in ideal
    )
    return {"flop_per_s": work > traffic, "bytes_per_s": work <= traffic}


def _deviation(
    kernel: Kernel,
    rates: Rates,
    rows: NDArray[np.bool_],
    sizes: Sequence[float],
    key: tuple[int, str],
) -> float:
    """Return log(time / law) of the model's kernels of some sizes, each like a shape of the table."""
    errors = kernel.errors(rates)
    shapes = [shape for shape in range(kernel.shapes) if (rows & (kernel.shape == shape)).any()]
    if not shapes:
        return 0.0
    k, purpose = key
    logs = []
    for place in range(len(sizes)):
        shape = shapes[draw_bits(k, f"deviation {purpose}", place) % len(shapes)]
        logs.append(-errors[rows & (kernel.shape == shape)].mean())
    return float(np.average(logs, weights=sizes))


def _slower(rates: Rates, chosen: str, factor: float) -> Rates:
    """Return rates at which everything, or what one rate stands for, takes `factor` times as long."""
    changed = [chosen] if chosen else [name for name in rates if name != "p"]
    return dict(rates) | {
        name: rates[name] / factor if name.endswith("_per_s") else rates[name] * factor for name in changed
    }
