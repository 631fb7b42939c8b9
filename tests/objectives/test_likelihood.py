"""Maximum likelihood is torch's cross entropy, summed."""

import pytest
import torch
from networks import build_translator
from torch.nn import functional
from torch.testing import assert_close

from regard.models import ROUTE
from regard.objectives import Context
from regard.objectives.likelihood import LikelihoodObjective
from regard.records import PAD, Batch, Sequences
from regard.registry import Choice


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_equals_torch_summed_over_the_target_tokens(smoothing):
    part = Choice("transformer", {"num_layers": 1, "feedforward_dim": 8})
    model = build_translator(dict(dim=8, encoder=part, decoder=part, dropout=0.0), 9, 9).double()
    ids = torch.tensor([[5, 6, 7, 2], [4, 2, 0, 0]])
    rows = Sequences(ids, ids != PAD)
    batch = Batch({"source": rows, "target": rows}, ROUTE, torch.arange(2), 6)
    decoded, encoded = model.decode(batch)
    scores = model.heads[ROUTE].log_probs(decoded, encoded).flatten(0, 1)
    wanted = functional.cross_entropy(
        scores, ids.flatten(), ignore_index=PAD, label_smoothing=smoothing, reduction="sum"
    )
    objective = LikelihoodObjective(Context(model), label_smoothing=smoothing)
    loss = objective.loss(batch, *objective.turns)
    assert_close(loss.sum, wanted)
    assert loss.count == 6 and not loss.parts["loss"].requires_grad
    assert list(objective.parameters_of("model")) == list(model.parameters())


def test_halves_add_up_to_the_batch():
    part = Choice("transformer", {"num_layers": 1, "feedforward_dim": 8})
    model = build_translator(dict(dim=8, encoder=part, decoder=part, dropout=0.0), 9, 9).double()
    ids = torch.tensor([[5, 6, 7, 2], [4, 2, 0, 0], [8, 8, 2, 0]])
    rows = Sequences(ids, ids != PAD)
    batch = Batch({"source": rows, "target": rows}, ROUTE, torch.arange(3), 9)
    objective = LikelihoodObjective(Context(model))
    whole, *parts = (objective.loss(one, "model") for one in (batch, *objective.halves(batch)))
    assert [part.count for part in parts] == [6, 3]
    assert_close(sum(part.sum for part in parts), whole.sum)
    assert [len(half.lines) for half in objective.halves(objective.halves(batch)[1])] == [1]
