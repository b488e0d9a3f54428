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
    from sim.traces.convert import convert
    from sim.traces.inspection import inspect
    from sim.traces.sample import sample
    from sim.workload.trace_file import load_trace

__all__ = ["compare", "convert", "inspect", "load", "load_trace", "run", "sample", "sweep"]

if not TYPE_CHECKING:
    _HOMES = {
        "compare": "sim.experiments.compare",
        "convert": "sim.traces.convert",
        "inspect": "sim.traces.inspection",
        "load": "sim.experiments.load",
        "load_trace": "sim.workload.trace_file",
        "run": "sim.simulation.run",
        "sample": "sim.traces.sample",
        "sweep": "sim.experiments.sweep",
    }

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415 - as late as what it imports

        return getattr(import_module(_HOMES[name]), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
