"""Regard: give it two text files, get a translator of your own that shows what it looks at.

>>> import regard
>>> predictor = regard.load("runs/en-de")
>>> predictor.predict(["Good morning!"])

Importing this costs nothing: torch is loaded when one of the names below is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.predictor import Predictor, load
    from regard.results import Explanation, Prediction
    from regard.runs import train

__all__ = ["Explanation", "Prediction", "Predictor", "load", "train"]
__version__ = "0.1.0"

_HOMES = {
    "Explanation": "regard.results",
    "Prediction": "regard.results",
    "Predictor": "regard.predictor",
    "load": "regard.predictor",
    "train": "regard.runs",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'regard' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return ["__version__", *__all__]
