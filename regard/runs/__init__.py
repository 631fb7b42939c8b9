"""Runs: the folder of a trained model, and what puts settings, texts, a model and a trainer together."""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use
from regard.runs.folder import RunFolder
from regard.runs.run import Assembled, Run

if TYPE_CHECKING:
    from regard.runs.training import TrainedRun, train, train_run
else:  # who only predicts needs no trainer
    __getattr__ = at_first_use(__name__, training="TrainedRun, train, train_run")

__all__ = ["Assembled", "Run", "RunFolder", "TrainedRun", "train", "train_run"]
