"""A wheel whose hot modules are compiled with mypyc, from the same sources; built only when asked for.

Enabled by HATCH_BUILD_HOOKS_ENABLE=true; `modules` of this hook's table in pyproject.toml says which.
Extensions are built in a folder of their own, not beside their sources, where Python would take them for the
checkout's. SIM_OPTIMIZE=1 asks the C compiler for less than the usual 3, for tests: it is done sooner.
"""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileHotModules(BuildHookInterface):
    """Adds an extension beside each hot module: Python prefers it to the source of the same name."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the modules, and have the extensions put into the wheel.

        Raises:
            ValueError: the build is an editable one, whose modules are the checkout's own sources.

        """
        # These are at hand only where this hook is enabled.
        from mypyc.build import mypycify  # noqa: PLC0415
        from setuptools import Distribution  # noqa: PLC0415

        if version == "editable":
            raise ValueError("an editable install runs from its sources: leave out --editable")
        self._scratch = Path(tempfile.mkdtemp())
        os.chdir(self.root)
        modules = sorted(str(path) for name in self.config["modules"] for path in Path().glob(name))
        level = os.environ.get("SIM_OPTIMIZE", "3")
        extensions = mypycify(modules, opt_level=level, group_name="sim", target_dir=str(self._scratch / "c"))
        build = Distribution({"name": "sim", "ext_modules": extensions}).get_command_obj("build_ext")
        build.build_lib, build.build_temp = str(self._scratch / "lib"), str(self._scratch / "o")
        build.ensure_finalized()
        build.run()
        library = self._scratch / "lib"
        for file in library.rglob("*.so"):
            build_data["force_include"][str(file)] = str(file.relative_to(library))
        build_data["infer_tag"], build_data["pure_python"] = True, False

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was built."""
        shutil.rmtree(self._scratch)
