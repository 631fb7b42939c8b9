"""Regard: give it two text files, get a translator of your own that shows what it looks at.

>>> import regard
>>> predictor = regard.load("runs/en-de")
>>> predictor.predict(["Good morning!"])

Importing this costs nothing: torch is loaded when one of the names below is first used.
"""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.predictor import Predictor, load
    from regard.results import Explanation, Prediction
    from regard.runs import train
else:
    __getattr__ = at_first_use(__name__, results="Explanation, Prediction", predictor="Predictor, load", runs="train")

__all__ = ["Explanation", "Prediction", "Predictor", "load", "train"]
__version__ = "0.1.0"


def __dir__() -> list[str]:
    return ["__version__", *__all__]
