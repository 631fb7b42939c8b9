"""The benchmarks' own modules, for tests of the same things at another size."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parents[2] / "benchmarks"


def benchmark(name: str) -> ModuleType:
    """`benchmarks/NAME.py`, imported."""
    if str(FOLDER) not in sys.path:  # for what they share
        sys.path.append(str(FOLDER))
    known = f"benchmarks_{name}"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, FOLDER / f"{name}.py")
        assert spec is not None and spec.loader is not None
        sys.modules[known] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[known]
