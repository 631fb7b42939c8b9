"""The wheel of regard_runtime: for one kind of machine, with the engine compiled for each of its processors."""

import platform
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from regard_runtime.build import build
from regard_runtime.library import VARIANTS


class WithEngines(build_py):
    """Compiles the engines into the package."""

    def run(self) -> None:
        """Copy the modules, then compile."""
        super().run()
        wanted = [one for one in VARIANTS if one.machine == platform.machine()]
        if not wanted:
            sys.exit(f"there is no engine for {platform.machine()}")
        build(wanted, Path(self.build_lib) / "regard_runtime" / "lib")


class OfMachine(bdist_wheel):
    """Names the machine, and any Python 3: nothing is linked to the interpreter."""

    def finalize_options(self) -> None:
        """Mark what is inside as of one machine."""
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self) -> tuple[str, str, str]:
        """Return the tag of the wheel."""
        return ("py3", "none", super().get_tag()[2])


setup(cmdclass={"build_py": WithEngines, "bdist_wheel": OfMachine})
