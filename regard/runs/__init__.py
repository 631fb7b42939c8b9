"""Runs: the folder of a trained model, and what puts settings, texts, a model and a trainer together."""

from regard.runs.assembly import Assembled, assemble
from regard.runs.folder import RunFolder
from regard.runs.training import train, train_run

__all__ = ["Assembled", "RunFolder", "assemble", "train", "train_run"]
