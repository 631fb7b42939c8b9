"""Run → Predictor."""

from pathlib import Path

from regard.predictor.predictor import Predictor
from regard.runs import RunFolder, assemble

__all__ = ["Predictor", "load"]


def load(run: Path | str, changes: list[str] | None = None) -> Predictor:
    """The model of a run folder, ready to answer; `changes` such as "decoding.search=greedy" as on the command line.

    Raises CheckpointError where the folder is missing, damaged or foreign.
    """
    model, task, experiment = assemble(RunFolder(Path(run)), changes)
    settings = experiment.decoding
    return Predictor(model, task, batch_tokens=settings.batch_tokens, max_source=settings.max_source)
