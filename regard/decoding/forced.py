"""Forced decoding: how likely a model finds targets that are given."""

from regard.decoding.search import Hypothesis
from regard.models import Model
from regard.records import Batch


def forced(model: Model, batch: Batch) -> list[Hypothesis]:
    """The targets of a batch as hypotheses; the score is the sum of their log-probabilities, EOS included."""
    target = batch.sequences("target")
    losses = model.nll(batch).double()
    found = []
    for ids, mask, row in zip(target.items, target.mask, losses, strict=True):
        log_probs = (-row[mask]).tolist()
        found.append(Hypothesis(ids[mask].tolist()[:-1], sum(log_probs), log_probs, True))
    return found
