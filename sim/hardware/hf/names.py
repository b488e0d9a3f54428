"""Names of models on Hugging Face, and the configurations that AIConfigurator's core brings along."""

from importlib.util import find_spec
from pathlib import Path

from sim.base.errors import InputError
from sim.base.messages import did_you_mean

PACKAGE = "aiconfigurator_core"
_SUFFIX = "_config.json"


def is_name(text: str) -> bool:
    """Whether a text may be a name on Hugging Face: an owner and a model."""
    owner, slash, model = text.partition("/")
    return bool(slash and owner and model) and "/" not in model and not text.startswith((".", "~"))


def plain(name: str) -> str:
    """Return a name as it is compared: tuned and plain models have one shape."""
    return name.lower().replace("/meta-llama-", "/llama-").replace("-instruct", "")


def configurations() -> dict[str, Path]:
    """Return the configurations of the installed library by name; none if it is not installed."""
    found = find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        return {}
    folder = Path(next(iter(found.submodule_search_locations))) / "model_configs"
    return {
        path.name.removesuffix(_SUFFIX).replace("--", "/", 1): path
        for path in sorted(folder.glob(f"*{_SUFFIX}"))
        if not path.name.endswith(f"_hf_quant{_SUFFIX}")
    }


def configuration(name: str) -> tuple[str, Path]:
    """Return the name by which the library knows a model, and its configuration.

    Raises:
        InputError: the library is not installed, or does not know the model.

    """
    known = configurations()
    if not known:
        raise InputError(
            f"no preset is of the model {name!r}, and AIConfigurator's core, which knows more models by "
            "name, is not installed: pip install 'kv-routing-sim[aic]', or give the path of its config.json"
        )
    for own, path in known.items():
        if plain(own) == plain(name):
            return own, path
    raise InputError(
        f"neither a preset nor AIConfigurator's core is of the model {name!r}{did_you_mean(name, known)}; "
        "give the path of its config.json"
    )
