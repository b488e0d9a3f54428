"""The layers of a model in order, and which of them are on which stage of a pipeline (vLLM 0.28.0)."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from sim.hardware.shape import ModelShape

Mixer = Literal["full", "windowed", "linear", "mamba"]
Mlp = Literal["dense", "experts"]
_MIXERS: dict[str, Mixer] = {"F": "full", "W": "windowed", "L": "linear", "M": "mamba"}


class Layer(NamedTuple):
    """What one layer is made of; None: it has no such part."""

    mixer: Mixer | None
    mlp: Mlp | None


class Stage(NamedTuple):
    """A stage of a pipeline."""

    layers: tuple[Layer, ...]
    first: bool
    """Whether it holds the embedding."""
    last: bool
    """Whether it holds the output head."""

    def count(self, kind: Mixer | Mlp) -> int:
        """Return how many of its layers have such a part."""
        return sum(kind in layer for layer in self.layers)


def layers_of(model: ModelShape) -> tuple[Layer, ...]:
    """Return the layers in order, those for multi-token prediction at the end."""
    letters = _letters(model)
    alone = bool({"-", "E"} & set(letters))
    found: list[Layer] = []
    for i, letter in enumerate(letters):
        if letter in _MIXERS:
            found.append(Layer(_MIXERS[letter], None if alone else _mlp(model, i)))
        else:
            found.append(Layer(None, "experts" if letter == "E" else "dense"))
    drafting = Layer("full", "experts" if model.experts else "dense")
    return (*found, *[drafting] * model.mtp_layers)


def stages(model: ModelShape, pipeline: int) -> tuple[Stage, ...]:
    """Return the stages of a pipeline: equal shares, what is over goes to the last but one and those before.

    As `get_pp_indices` of `vllm/distributed/utils.py`. Layers for multi-token prediction stand on the last.
    """
    layers = layers_of(model)
    plain = len(layers) - model.mtp_layers
    sizes = [plain // pipeline] * pipeline
    for i in range(2, plain % pipeline + 2):
        sizes[-i] += 1
    found, start = [], 0
    for i, size in enumerate(sizes):
        last = i == pipeline - 1
        end = len(layers) if last else start + size
        found.append(Stage(layers[start:end], first=i == 0, last=last))
        start = end
    return tuple(found)


def _mlp(model: ModelShape, layer: int) -> Mlp:
    return "experts" if model.experts and model.experts.are_in(layer) else "dense"


def _letters(model: ModelShape) -> Sequence[str]:
    total, full = model.layers, model.full_attention_layers
    if model.layer_pattern:
        return (model.layer_pattern * (-(-total // len(model.layer_pattern))))[:total]
    other = "W" if model.windows else "M" if model.mamba else "L"
    return ["F" if (i + 1) * full // total > i * full // total else other for i in range(total)]
