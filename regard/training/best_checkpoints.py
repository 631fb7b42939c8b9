"""Choice of the weights at the end of a training."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.config import write_checked
from regard.errors import CheckpointError
from regard.training import checkpoint as files
from regard.training.model_selection import EarlyStopping, Rankings
from regard.training.progress import Progress
from regard.training.settings import TrainingSettings
from regard.training.shards import Tensors, load_whole
from regard.training.world import ONE_PROCESS, World

AVERAGE = "average"


class _Mean(NamedTuple):
    """Averaged weights."""

    name: str
    updates: Sequence[int]  # of the checkpoints
    weights: Tensors


class BestCheckpoints:
    """The end of a run: the means of its checkpoints, and final.json, which names what is to be used.

    Means are of the best or of the last (https://arxiv.org/abs/1706.03762, section 6.1), and of the start and the best
    (https://arxiv.org/abs/2109.01903, section 3).
    """

    def __init__(
        self, model: nn.Module, settings: TrainingSettings, run: Path, progress: Progress, world: World = ONE_PROCESS
    ) -> None:
        self.model, self.settings, self.run = model, settings, run
        self.progress, self.world = progress, world
        self.mean = run / files.FOLDER / AVERAGE

    def clear(self) -> None:
        """Remove what an earlier end and an interrupted save have left."""
        files.clear(self.run)
        (self.run / files.FINAL).unlink(missing_ok=True)
        files.remove(self.mean)

    def keep(self, update: int, rankings: Rankings) -> None:
        """Keep the checkpoints of an update, of both rankings, and of a start to be mixed; remove all others."""
        start = [0] if self.settings.start_means else []
        kept = {files.step_folder(self.run, one) for one in [update, *rankings.kept, *start]}
        for folder in files.steps(self.run):
            if folder not in kept:
                files.remove(folder)

    def forget_damaged(self, rankings: Rankings) -> None:
        """Drop updates from rankings whose checkpoints are damaged or gone."""
        for update in sorted(rankings.kept):
            folder = files.step_folder(self.run, update)
            try:
                files.load_checkpoint(folder, training=False)
            except CheckpointError as error:
                if folder.exists():  # else a later checkpoint, now damaged, took its place
                    self.progress.warn(f"{folder}: {error.problem}")
                rankings.forget(update)

    def average(
        self,
        rankings: Rankings,
        update: int,
        evaluate: Callable[[], Mapping[str, float]],
        start_means: int = 0,
    ) -> float | None:
        """Return the score of the best mean of checkpoints, saved if it is better than the best of all; else None.

        `evaluate` scores the weights that are in the model. `start_means`: means with the start to try. The model
        itself is left as it was.
        """
        ranking, before = copy(rankings.best), Tensors()
        found: tuple[_Mean, float] | None = None
        try:
            for mean in self._means(rankings.gains, start_means):
                before = before or {name: tensor.clone() for name, tensor in self.model.state_dict().items()}
                load_whole(self.model, mean.weights)
                scores = evaluate()
                if ranking.add(scores[ranking.metric], update + 1, scores.get("loss")):
                    found = mean, scores[ranking.metric]
        except CheckpointError as error:
            self.progress.warn(f"{error}; no more means are tried")
        if found is not None:
            (name, updates, weights), score = found
            load_whole(self.model, weights)
            if self._save({"update": update, "averaged": updates, "score": score}):
                self.progress.say(f"{name} has {ranking.metric} {score:.2f} and is kept")
            else:
                found = None
        if before:
            self.model.load_state_dict(before)
        return found and found[1]

    def _means(self, ranking: EarlyStopping, parts: int) -> Iterator[_Mean]:
        """Yield the mean of the best or of the last checkpoints, then means of the start and this mean without it."""
        which = self.settings.average_of
        chosen = ranking.latest[::-1] if which == "last" else ranking.updates[: self.settings.average]
        if len(chosen) > 1:
            yield _Mean(f"the mean of the {len(chosen)} {which}", chosen, self._mean_of(chosen))
        trained = [one for one in chosen if one] or [one for one in ranking.updates if one][:1]
        if not (parts and trained and files.step_folder(self.run, 0).exists()):
            return
        self.progress.say(f"trying {parts} means of the start and the trained weights")
        start, last = self._mean_of([0]), self._mean_of(trained)
        for place in range(parts, 0, -1):
            part = place / (parts + 1)
            name = f"the mean of the start ({1 - part:.0%}) and the trained weights ({part:.0%})"
            yield _Mean(name, [0, *trained], average([start, last], [1 - part, part]))

    def _mean_of(self, updates: Sequence[int]) -> Tensors:
        folders = [files.step_folder(self.run, one) for one in updates]
        return average([files.load_checkpoint(one, training=False).model for one in folders])

    def write(self, reason: str, update: int, best: EarlyStopping, averaged: float | None) -> tuple[Path, float | None]:
        """Names the mean, else the best, else the last: its folder and its score. Raises CheckpointError."""
        folder, score = files.step_folder(self.run, update), averaged
        if averaged is not None:
            folder = self.mean
        elif best.ranked:
            score = best.ranked[0].score
            folder = files.step_folder(self.run, best.ranked[0].update)
        named = {"checkpoint": folder.name, "metric": best.metric, "score": score, "reason": reason}
        self.world.by_first(lambda: _write_final(self.run / files.FINAL, named))
        return folder, score

    def _save(self, state: dict[str, Any]) -> bool:
        content = files.content_of(self.model)

        def write() -> bool:
            try:
                files.write(self.mean, content, state)
            except CheckpointError as error:
                self.progress.warn(f"{error}; the best is kept instead")
                return False
            return True

        return self.world.by_first(write)


def _write_final(path: Path, named: Mapping[str, Any]) -> None:
    try:
        write_checked(path, named)
    except OSError as error:
        raise CheckpointError(path, f"could not be written: {error.strerror or error}", "is the disk full?") from error


def average(models: Sequence[Tensors], weights: Sequence[float] | None = None) -> Tensors:
    """Each tensor's mean in float64 (https://arxiv.org/abs/1706.03762, section 6.1), weighed if `weights` are given.

    Other values (a counter) are taken from the first.
    """
    first, parts = models[0], weights or [1.0] * len(models)
    return {name: _mean([model[name] for model in models], parts) for name in first}


def _mean(tensors: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
    first = tensors[0]
    if not (first.is_floating_point() or first.is_complex()):
        return first
    wide = torch.complex128 if first.is_complex() else torch.float64
    total = torch.zeros_like(first, dtype=wide)
    for tensor, weight in zip(tensors, weights, strict=True):
        total += weight * tensor.to(wide)
    return (total / sum(weights)).to(first.dtype)
