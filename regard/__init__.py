"""Regard: train a translator from two text files, inspect its attention, evaluate, compare and serve it.

>>> import regard
>>> run = regard.train(source="train.en", target="train.de", run="runs/en-de")
>>> regard.evaluate(run, source="test.en", target="test.de")
>>> predictor = regard.load(run)
>>> predictor.predict(["Good morning!"])

Importing this costs nothing: torch is loaded when one of the names below is first used.
"""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.errors import CheckpointError, ConfigError, DataError, RegardError, TooLongError, TrainingError
    from regard.experiment import add_parts
    from regard.predictor import Predictor, load
    from regard.reports.compare.compare import ComparisonReport, compare
    from regard.reports.evaluation import evaluate
    from regard.reports.evaluation_report import Evaluation
    from regard.results import Explanation, Prediction
    from regard.runs import TrainedRun, train
else:
    homes = {  # module → its names
        "errors": "CheckpointError, ConfigError, DataError, RegardError, TooLongError, TrainingError",
        "experiment": "add_parts",
        "predictor": "Predictor, load",
        "reports.evaluation": "evaluate",
        "reports.evaluation_report": "Evaluation",
        "reports.compare.compare": "ComparisonReport, compare",
        "results": "Explanation, Prediction",
        "runs": "TrainedRun, train",
    }
    __getattr__ = at_first_use(__name__, **homes)

__all__ = [
    "CheckpointError", "ComparisonReport", "ConfigError", "DataError", "Evaluation", "Explanation", "Prediction",
    "Predictor", "RegardError", "TooLongError", "TrainedRun", "TrainingError", "add_parts", "compare",
    "evaluate", "load", "train",
]  # fmt: skip
__version__ = "0.1.0"


def __dir__() -> list[str]:
    return ["__version__", *__all__]
