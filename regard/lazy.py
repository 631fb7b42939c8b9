"""Names of a package whose modules are loaded when one of them is first used: https://peps.python.org/pep-0562/.

    if TYPE_CHECKING:
        from regard.answers.terminal import render, show
    else:
        __getattr__ = at_first_use(__name__, terminal="render, show")

The first branch is for type checkers and for import-linter, which thus see ordinary imports.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def at_first_use(package: str, **modules: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package; `modules`: a module in it → its names, separated by ", ".

    No name may be that of a module: once loaded, that module would hide it.
    """
    homes = {name: f"{package}.{module}" for module, names in modules.items() for name in names.split(", ")}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        return getattr(import_module(homes[name]), name)

    return load
