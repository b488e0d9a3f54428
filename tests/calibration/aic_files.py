"""Makes the files of calibration/aic anew: `python -m tests.calibration.aic_files [WORD ...]`, extra [aic].

`engines.csv` there says which: parallel sizes are tensor-parallel GPUs, with d and data-parallel ranks, and e
for whole experts on each GPU. A WORD makes only files with it in their names.
"""

import csv
import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

from sim.base.errors import InputError
from sim.base.shipped import FROM_TABLES, preset, preset_names, shipped_root
from sim.calibration.aic import head_lines
from sim.hardware.aic.asked import Asked, asked, asked_by_name
from sim.hardware.aic.file import coefficients_of
from sim.hardware.coefficient_file import file_name
from sim.hardware.coefficient_toml import to_toml
from sim.hardware.model import GpuSettings, ModelSettings
from sim.hardware.parallel import Parallel

FOLDER = shipped_root() / "calibration" / "aic"


class Engine(NamedTuple):
    """One file."""

    model: str
    gpu: str
    parallel: Parallel
    row: dict[str, str]

    @property
    def file(self) -> str:
        return f"{file_name(self.model, self.gpu, self.parallel)}{FROM_TABLES}.toml"

    @property
    def asked(self) -> Asked:
        """How AIConfigurator is asked for it: as a preset where there is one, else as the row says."""
        if self.model in preset_names("models"):
            model = ModelSettings.model_validate(preset("models", self.model))
            any_gpu = GpuSettings.model_validate(preset("gpus", "h100-80gb"))
            return asked(model, any_gpu.model_copy(update={"name": self.gpu}), self.parallel)
        formats = {part: self.row[part] or None for part in ("gemm", "moe", "kv")}
        return asked_by_name(self.row["asked"], self.gpu, self.parallel, formats)


def engines() -> Iterator[Engine]:
    with (FOLDER / "engines.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            for gpu in row["gpus"].split():
                for sizes in row["parallel"].split():
                    yield Engine(row["model"], gpu, _parallel(sizes), row)


def _parallel(sizes: str) -> Parallel:
    found = re.fullmatch(r"(\d+)(?:d(\d+))?(e?)", sizes)
    assert found, sizes
    return Parallel(tensor=int(found[1]), data=int(found[2] or 1), expert=bool(found[3]))


def main(words: list[str]) -> None:
    for engine in engines():
        if words and not any(word in engine.file for word in words):
            continue
        try:
            content = coefficients_of(engine.asked, engine.model, engine.gpu)
        except InputError as error:
            print(f"{engine.file}: {error}")
            continue
        (FOLDER / engine.file).write_text(to_toml(content, head_lines(content)), encoding="utf-8")
        print(engine.file, *(f"{100 * one.mape:.1f}" for one in content.held_out), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
