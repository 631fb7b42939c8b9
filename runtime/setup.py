"""The wheel of regard_runtime: for one kind of machine, with the engine compiled for each of its processors.

The package is `regard.runtime` under a name of its own, so that neither wheel has a file of the other.
"""

import os
import platform
import shutil
import sys
from importlib import import_module
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
ROOT = next(
    one for one in (HERE, HERE.parent) if (one / "regard" / "runtime").is_dir()
)  # a source distribution, a checkout

sys.path.insert(0, str(ROOT / "regard"))  # as a package of its own: Regard may be installed, too
build, library = (import_module(f"runtime.{name}") for name in ("build", "library"))
sys.path.remove(str(ROOT / "regard"))


class WithEngines(build_py):
    """Compiles the engines into the package."""

    def run(self) -> None:
        """Copy the modules, then compile."""
        super().run()
        wanted = [one for one in library.VARIANTS if one.machine == platform.machine()]
        if not wanted:
            sys.exit(f"there is no engine for {platform.machine()}")
        build.build(wanted, Path(self.build_lib) / "regard_runtime" / "lib")


class WithSources(sdist):
    """Holds the package and the sources of the engines, which lie outside this folder in a checkout."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Copy them to where they lie from the root of a checkout."""
        super().make_release_tree(base_dir, [one for one in files if not one.startswith("..")])
        package = (ROOT / "regard" / "runtime").glob("*.py")
        for file in (*package, library.SOURCE, *library.SOURCE.parent.glob("*.h")):
            copied = Path(base_dir) / file.relative_to(ROOT)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copied)


class OfMachine(bdist_wheel):
    """Names the machine, and any Python 3: nothing is linked to the interpreter."""

    def finalize_options(self) -> None:
        """Mark what is inside as of one machine."""
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self) -> tuple[str, str, str]:
        """Return the tag of the wheel."""
        return ("py3", "none", super().get_tag()[2])


setup(
    packages=["regard_runtime"],
    package_dir={"regard_runtime": os.path.relpath(ROOT / "regard" / "runtime", HERE)},
    cmdclass={"build_py": WithEngines, "bdist_wheel": OfMachine, "sdist": WithSources},
)
