"""Targets that a model writes while it is trained, as batches to learn from."""

from collections.abc import Sequence
from typing import Annotated, NamedTuple, cast

import torch
from torch import Tensor

from regard.config import Doc
from regard.config.bounds import NotNegative, Positive, Size
from regard.data.collate import collate
from regard.data.columns import TextColumn
from regard.decoding import Hypothesis, Search
from regard.decoding.sampling import SamplingSearch
from regard.errors import PartError
from regard.models import Generator, Model
from regard.objectives.objective import Context, Objective
from regard.ops.modules import evaluating
from regard.records import EOS, TARGET, Batch, Loss, Sequences

Samples = Annotated[Size, Doc("Number of targets sampled per sentence.")]
Sharpness = Annotated[Positive, Doc("Sharpness of the distribution over candidates: below 1 flattens it.")]
LikelihoodWeight = Annotated[NotNegative, Doc("Weight of the likelihood of the reference, a mean over its pieces.")]
TargetIds = tuple[int, ...]  # EOS at the end, unless a limit cut it off


class Candidates(NamedTuple):
    """Distinct targets of each sentence of a batch."""

    targets: list[list[TargetIds]]  # sentence by sentence, the given one first
    batch: Batch  # a row for each of them
    mask: Tensor  # (sentence, most): which of so many each sentence has

    def table(self, values: Tensor, fill: float) -> Tensor:
        """A value for each candidate (rows,) → (sentence, most), `fill` where there is none."""
        found = values.new_full(self.mask.shape, fill)
        return found.masked_scatter(self.mask, values)


class SampledObjective(Objective):
    """Objective on targets that the model samples, and on the given one.

    Built with the samples for every sentence, and the weight and the smoothing of the loss of the given target. Raises
    ConfigError for models that write no targets.
    """

    name: str  # in the table of objectives
    writes = True

    def __init__(self, context: Context, samples: int, likelihood: float, label_smoothing: float) -> None:
        super().__init__(context)
        need_writer(context, self.name)
        self.samples, self.likelihood, self.label_smoothing = samples, likelihood, label_smoothing

    def sampled(self, batch: Batch) -> list[list[TargetIds]]:
        """Return `count` sampled targets of each sentence."""
        found = search_with(self.context.model, sampling(self.samples), batch)
        return [[ids_of(one) for one in some] for some in found]

    def scored(self, batch: Batch) -> tuple[Candidates, Tensor]:
        """Return the sampled and given targets, each once, and its log-probabilities: (sentence, candidate)."""
        pairs = zip(targets_of(batch), self.sampled(batch), strict=True)
        targets = [list(dict.fromkeys([given, *some])) for given, some in pairs]
        sizes = torch.tensor([len(some) for some in targets], device=batch.lines.device)
        mask = torch.arange(max(map(len, targets)), device=sizes.device) < sizes.unsqueeze(1)
        found = Candidates(targets, with_targets(batch, targets), mask)
        return found, found.table(-self.context.model.nll(found.batch).sum(dim=-1), float("-inf"))

    def given_loss(self, batch: Batch) -> Tensor:
        """Return the sum over sentences of the loss of a piece of the given target."""
        model = self.context.model
        losses = model.nll(batch, smoothing=self.label_smoothing).sum(dim=-1)
        return (losses / model.counted(batch).sum(dim=-1).clamp(min=1)).sum()

    def with_given(self, total: Tensor, parts: dict[str, Tensor], batch: Batch) -> Loss:
        """Return the loss of a batch: `total`, and that of the given targets where it has a weight."""
        if self.likelihood:
            given = self.given_loss(batch)
            total, parts = total + self.likelihood * given, {**parts, "likelihood": given.detach()}
        return Loss(total, len(batch.lines), parts)


def need_writer(context: Context, name: str) -> Generator:
    """Return the model. Raises ConfigError for one that writes no targets by a search, and for compiled code."""
    context.need_uncompiled(f"a search, as '{name}' needs it, cannot be compiled")
    if not isinstance(context.model, Generator) or (context.task and TARGET not in context.task.vocabularies):
        raise PartError(f"'{name}' is for models that write targets, and this one does not", "objective=likelihood")
    return context.model


def search_with(model: Model, search: Search, batch: Batch) -> list[list[Hypothesis]]:
    """Return what a search finds with a model as it answers, without dropout; the model is left as it was."""
    with torch.no_grad(), evaluating(model):
        return search.run(cast(Generator, model), batch)


def sampling(samples: int) -> SamplingSearch:
    """Return a search that samples `count` targets, other ones at each call."""
    return SamplingSearch(n_best=samples, seed=int(torch.randint(2**31, ())))


def ids_of(hypothesis: Hypothesis) -> TargetIds:
    """Return what was written, with its end."""
    return (*hypothesis.ids, EOS) if hypothesis.has_end else tuple(hypothesis.ids)


def targets_of(batch: Batch) -> list[TargetIds]:
    """Return the given targets."""
    target = batch.sequences(TARGET)
    return [tuple(ids[mask].tolist()) for ids, mask in zip(target.items, target.mask, strict=True)]


def with_targets(batch: Batch, targets: Sequence[Sequence[TargetIds]]) -> Batch:
    """Return a batch with a row for each of the targets of each sentence, sentence by sentence."""
    rows = torch.arange(len(targets)).repeat_interleave(torch.tensor([len(some) for some in targets]))
    flat = collate([ids for some in targets for ids in some])
    device, found = batch.lines.device, batch.select(rows.to(batch.lines.device))
    target = Sequences(flat.items.to(device), flat.mask.to(device))
    return found._replace(columns={**found.columns, TARGET: target}, count=int(flat.mask.sum()))


def target_text(column: TextColumn, ids: TargetIds) -> str:
    """Return what ids say; in a rehearsal, whose column knows few of them, their numbers."""
    words = [one for one in ids if one != EOS]
    return " ".join(map(str, words)) if column.stands_in else column.decode(words)
