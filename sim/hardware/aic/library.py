"""The one place that touches `aiconfigurator-core`: an engine of it, or one line why there is none."""

import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol, cast

from sim.base.errors import InputError
from sim.hardware.aic.asked import Asked

PACKAGE = "aiconfigurator-core"
_LOGGER = "aiconfigurator_core"

Op = tuple[str, float, float, str]
"""Name, milliseconds, energy, and source: "silicon", "empirical" or "mixed"."""


class Handle(Protocol):
    """What is asked of its `EngineHandle`."""

    def run_static_per_op(
        self, *, batch_size: int, isl: int, osl: int, prefix: int, mode: str
    ) -> tuple[Sequence[Op], Sequence[Op]]:
        """Return the operations of a prefill of `isl` tokens, `prefix` of them computed before."""

    def decode_step_per_op(self, gen_tokens: int, isl: int, osl: int) -> Sequence[Op]:
        """Return those of a step of decodes at a context of `isl` tokens each."""

    def mixed_step_latency(self, ctx_tokens: int, gen_tokens: int, isl: int, osl: int, prefix: int) -> float:
        """Return the milliseconds of a step of both."""


def installed_version() -> str:
    """Return the version of the library.

    Raises:
        InputError: it is not installed.

    """
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        raise InputError(
            'AIConfigurator needs the extra [aic]: pip install "kv-routing-sim[aic]" (Python 3.11 to 3.13); '
            "shipped coefficients and the roofline do without"
        ) from None


def opened(asked: Asked) -> Handle:
    """Return an engine of the library.

    Raises:
        InputError: the library is not installed, or has no tables for what is asked.

    """
    installed_version()
    with refusing(asked), _quiet():
        from aiconfigurator_core.sdk.engine import EngineHandle  # noqa: PLC0415 - an extra

        config = asked.model if asked.by_shape else _bundled(asked.model)
        if config is None:
            return cast("Handle", EngineHandle.compile(asked.model, asked.system, "vllm", **asked.options))
        with TemporaryDirectory(prefix="sim-aic-") as folder:
            (Path(folder) / "config.json").write_text(config, encoding="utf-8")
            return cast("Handle", EngineHandle.compile(folder, asked.system, "vllm", **asked.options))


def _bundled(name: str) -> str | None:
    """Return a config.json that the library brings along without knowing its name (Mixtral), else None."""
    from aiconfigurator_core.sdk.common import DefaultHFModels  # noqa: PLC0415 - an extra

    file = files("aiconfigurator_core") / "model_configs" / f"{name.replace('/', '--')}_config.json"
    if name in DefaultHFModels or Path(name).is_dir() or not file.is_file():
        return None
    return file.read_text(encoding="utf-8")


@contextmanager
def refusing(asked: Asked) -> Iterator[None]:
    """Turn what the library raises into one line."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # foreign: it raises whatever its parts raise
        why = " ".join(str(error).split()) or type(error).__name__
        raise InputError(
            f"AIConfigurator has no step times of {_named(asked)} on {asked.system}: {why[:300]}; choose "
            "another format or parallel size, or leave timing.preset out for a roofline"
        ) from error


def _named(asked: Asked) -> str:
    name = asked.model
    if asked.by_shape:
        config = json.loads(name)
        name = f"{config.get('num_hidden_layers')} layers of {config.get('hidden_size')}"
    sizes = [f"{key} = {value}" for key, value in asked.options.items() if value != 1]
    return f"{name} ({', '.join(sizes)})" if sizes else name


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep its log of where rows come from off the terminal: their sources are counted."""
    logger = logging.getLogger(_LOGGER)
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
