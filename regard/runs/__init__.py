"""Runs: folders of trained models, and the assembly of settings, texts, model and trainer."""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use
from regard.runs.folder import RunFolder
from regard.runs.run import Assembled, Run

if TYPE_CHECKING:
    from regard.runs.training import TrainedRun, train, train_run
else:  # prediction alone needs no trainer
    __getattr__ = at_first_use(__name__, training="TrainedRun, train, train_run")

__all__ = ["Assembled", "Run", "RunFolder", "TrainedRun", "train", "train_run"]
