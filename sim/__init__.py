"""A discrete-event simulator of KV-aware routing for LLM serving: vLLM behind NVIDIA Dynamo.

    from sim import load, run, sweep, compare

    result = run("agg8", {"workload.sessions": 28})
    result.plot.ecdf("ttft_s")

Each function is loaded when it is first used. Its module has another name, because importing a module would
put it in the function's place here.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sim.experiments.compare import compare
    from sim.experiments.load import load
    from sim.experiments.sweep import sweep
    from sim.simulation.run import run

__all__ = ["compare", "load", "run", "sweep"]

if not TYPE_CHECKING:
    _HOMES = {
        "compare": "sim.experiments.compare",
        "load": "sim.experiments.load",
        "run": "sim.simulation.run",
        "sweep": "sim.experiments.sweep",
    }

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415 - as late as what it imports

        return getattr(import_module(_HOMES[name]), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
