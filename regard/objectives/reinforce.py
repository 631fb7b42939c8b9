"""REINFORCE for attention that samples (Xu et al. 2015, https://arxiv.org/abs/1502.03044, section 4.1)."""

from typing import Annotated

import torch
from torch import Tensor

from regard.attention import Records, Role, recording
from regard.config import Doc
from regard.config.bounds import NotNegative, Size
from regard.config.common_settings import LabelSmoothing
from regard.errors import ConfigError
from regard.objectives.objective import OBJECTIVE_PLACE, Context, Objective, copied
from regard.records import Batch, Loss


def column_mask(column: str, batch: Batch, rows: int) -> Tensor:
    """Return a column's mask (rows, length); `rows` may be several copies of the batch, one after another."""
    mask = batch.sequences(column).mask
    return mask.repeat(rows // len(mask), 1) if len(mask) else mask


def query_mask(role: Role, batch: Batch, rows: int, queries: int) -> Tensor | None:
    """Return which queries (rows, query) of an attention are words; None where they are not those of a column."""
    if role.queries is None or role.queries not in batch.columns:
        return None
    mask = column_mask(role.queries, batch, rows)
    return mask if mask.shape[-1] == queries else None


_KEPT = 0.9  # of the baseline, at every batch


class ReinforceObjective(Objective):
    """-log p(y | s) - reward · (log p(y | s) - b) · log p(s) - entropy · H(s), s what each `hard` attention drew.

    The mean over `samples` for every sentence; the factor of log p(s) has no gradient. b is the moving average
    b_k = 0.9 b_(k-1) + 0.1 log p(y | s_k), kept per target token so that long and short sentences share it. Raises
    ConfigError where no attention samples.
    """

    aliases = "policy_gradient, 强化学习"

    baseline: Tensor

    def __init__(
        self,
        context: Context,
        *,
        reward: Annotated[NotNegative, Doc("Weight of the reward for attention decisions (REINFORCE).")] = 1.0,
        entropy: Annotated[NotNegative, Doc("Weight of the entropy bonus of the sampled attention.")] = 0.01,
        samples: Annotated[Size, Doc("Number of samples per sentence.")] = 1,
        label_smoothing: LabelSmoothing = 0.0,
    ) -> None:
        context.need_records("'reinforce'")
        super().__init__(context, rewards_samples=reward > 0)
        self.reward, self.entropy, self.samples, self.label_smoothing = reward, entropy, samples, label_smoothing
        self.register_buffer("baseline", torch.zeros(()))

    def loss(self, batch: Batch, turn: str) -> Loss:
        with recording(self.context.model) as records:
            copies = copied(batch, self.samples)
            losses = self.context.model.nll(copies, smoothing=self.label_smoothing)
        log_prob, entropy = (_summed(name, records, batch) for name in ("log_prob", "entropy"))
        written, sizes = -losses.sum(dim=-1), self.context.model.counted(copies).sum(dim=-1)
        advantage = written.detach() - self.baseline * sizes
        gained = written + self.reward * advantage * log_prob + self.entropy * entropy
        if self.training:
            mean = written.detach().sum() / sizes.sum().clamp(min=1)
            self.baseline.mul_(_KEPT).add_((1 - _KEPT) * mean)
        shown = {"loss": -written, "log_prob": log_prob, "entropy": entropy}
        parts = {name: rows.detach().sum() / self.samples for name, rows in shown.items()}
        return Loss(-gained.sum() / self.samples, batch.count, parts)


def _summed(term: str, records: Records, batch: Batch) -> Tensor:
    """(rows): a term of every attention that has it, over all heads and the queries that stand for words."""
    sums = []
    for role, answers in records.values():
        terms = [answer.terms[term] for answer in answers if term in answer.terms]
        if not terms:
            continue
        values = torch.cat(terms, dim=-1)  # one call per word, or one for all words
        mask = query_mask(role, batch, len(values), values.shape[-1])
        if mask is not None:
            values = values * mask.view(len(mask), *(1,) * (values.dim() - 2), -1)
        sums.append(values.flatten(1).sum(dim=-1))
    if not sums:
        raise ConfigError(OBJECTIVE_PLACE, "'reinforce' finds no attention that samples", "attention.weighting=hard")
    return torch.stack(sums).sum(dim=0)
