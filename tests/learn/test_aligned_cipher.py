"""Words of a substitution cipher are aligned by a Transformer to which links were never shown: G04."""

import pytest
import torch
from networks import build_translator
from torch import Tensor

from regard.explain.relevance import RELEVANCES, Question
from regard.models import ROUTE
from regard.records import EOS, PAD, Batch, Sequences
from regard.registry import Choice

FIRST, LETTERS = 4, 20
VOCAB = FIRST + LETTERS
SMALL = {"num_layers": 1, "feedforward_dim": 64}
SENTENCES, SHORTEST, LONGEST = 30, 4, 10

pytestmark = pytest.mark.slow


def drawn(rows: int, cipher: Tensor) -> Batch:
    """Strings without a letter twice, each letter's number written through the cipher."""
    lengths = torch.randint(SHORTEST, LONGEST + 1, (rows, 1))
    places = torch.arange(LONGEST + 1)
    letters = torch.rand(rows, LETTERS).argsort(dim=1)[:, : LONGEST + 1]
    columns = {}
    for name, written in (("source", letters), ("target", cipher[letters])):
        ids = torch.where(places < lengths, written + FIRST, torch.where(places == lengths, EOS, PAD))
        columns[name] = Sequences(ids, ids != PAD)
    return Batch(columns, ROUTE, torch.arange(rows), int(columns["target"].mask.sum()))


@pytest.fixture(scope="module")
def trained():
    """A translator that has learnt the cipher, and strings that it has not seen."""
    torch.manual_seed(1)
    cipher = torch.randperm(LETTERS)
    settings = {
        "dim": 32,
        "encoder": Choice("transformer", SMALL),
        "decoder": Choice("transformer", SMALL),
        "dropout": 0.0,
        "tied": "none",
    }
    model = build_translator(settings, VOCAB, VOCAB)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.004)
    for _ in range(500):
        batch = drawn(32, cipher)
        optimizer.zero_grad()
        (model.nll(batch).sum() / batch.count).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model.eval(), drawn(SENTENCES, cipher)


@pytest.mark.parametrize("by", ["attention", "lrp"])
def test_nearly_every_letter_is_linked_to_its_own(trained, by):
    model, batch = trained
    method, right, total = RELEVANCES.build(Choice(by)), 0, 0
    for row in range(SENTENCES):
        length = int(batch.sequences("source").mask[row].sum()) - 1
        question = Question(method.model(model), batch.select(torch.tensor([row])), ("source", "target"))
        weights = method.of(question).words[0][:length, :length]
        right += int((weights.argmax(dim=1) == torch.arange(length)).sum())
        total += length
    assert right / total >= 0.95
