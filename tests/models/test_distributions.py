"""All choices of a model: their losses are those of `nll`."""

import pytest
import torch
from networks import build_language_model, build_translator, columns_of
from torch.testing import assert_close

from regard.errors import ConfigError
from regard.heads import HEADS
from regard.models import MODELS, ROUTE
from regard.records import PAD, Batch, Sequences
from regard.registry import Choice

PART = Choice("transformer", {"num_layers": 1, "feedforward_dim": 8})
IDS = torch.tensor([[5, 6, 7, 2], [4, 2, 0, 0]])
ROWS = Sequences(IDS, IDS != PAD)


def batch_of(**columns):
    return Batch(columns, ROUTE, torch.arange(2), 6)


def check(model, batch, smoothing):
    found = model.double().eval().distributions(batch)
    assert_close(found.log_probs.exp().sum(dim=-1), torch.ones(len(found.reference), dtype=torch.float64))
    assert_close(found.nll(smoothing), model.nll(batch, smoothing=smoothing)[model.counted(batch)])


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("head", sorted(HEADS))
def test_words_of_a_translator(head, smoothing):
    settings = dict(dim=8, encoder=PART, decoder=PART, head=Choice(head), dropout=0.0)
    check(build_translator(settings, 9, 9), batch_of(source=ROWS, target=ROWS), smoothing)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_pieces_of_a_language_model_that_count(smoothing):
    model = build_language_model(dict(dim=8, decoder=PART), 9)
    counts = torch.tensor([[False, True, True, True], [False, True, False, False]])
    check(model, batch_of(text=ROWS, counted=counts), smoothing)


def test_a_model_that_tells_no_other_choices_says_so():
    model = MODELS.build(Choice("masked_language_model", {"dim": 8, "encoder": PART}), columns_of(text=9))
    with pytest.raises(ConfigError, match="objective: compares the probabilities of all choices"):
        model.distributions(batch_of(text=ROWS))
