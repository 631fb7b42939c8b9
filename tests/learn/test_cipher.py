"""Networks coupled by position write a substitution cipher without a fault, in longer strings than they have seen."""

import pytest
import torch
from networks import build_translator
from torch import Tensor

from regard.decoding import GreedySearch
from regard.explain.relevance import RELEVANCES, Question
from regard.models import ROUTE, AttentionSettings, Translator
from regard.records import EOS, PAD, Batch, Sequences
from regard.registry import Choice

FIRST, LETTERS = 4, 20
VOCAB = FIRST + LETTERS
ROWS, HELD, SEEN, LONGEST = 32, 100, 15, 30

CONVOLUTIONS = {"hidden_dim": 24, "num_layers": 4, "dilations": (1, 2)}
MODELS = {
    "bytenet": (Choice("bytenet", {**CONVOLUTIONS, "ratio": 1.0}), Choice("bytenet", CONVOLUTIONS)),
    "bytenet-multiplicative": (
        Choice("bytenet", {**CONVOLUTIONS, "ratio": 1.0, "block": "multiplicative"}),
        Choice("bytenet", {**CONVOLUTIONS, "block": "multiplicative"}),
    ),
    "recurrent-bytenet": (
        Choice(
            "sequential", {"encoders": (Choice("unfolded", {"ratio": 1.0}), Choice("recurrent", {"hidden_dim": 24}))}
        ),
        Choice("recurrent_bytenet", {"hidden_dim": 48}),
    ),
}


def drawn(rows: int, cipher: Tensor, shortest: int, longest: int) -> Batch:
    lengths = torch.randint(shortest, longest + 1, (rows, 1))
    places = torch.arange(longest + 1)
    letters = torch.randint(LETTERS, (rows, longest + 1))
    columns = {}
    for name, written in (("source", letters), ("target", cipher[letters])):
        ids = torch.where(places < lengths, written + FIRST, torch.where(places == lengths, EOS, PAD))
        columns[name] = Sequences(ids, ids != PAD)
    return Batch(columns, ROUTE, torch.arange(rows), int(columns["target"].mask.sum()))


def trained(name: str, cipher: Tensor, updates: int) -> Translator:
    encoder, decoder = MODELS[name]
    settings = dict(
        dim=48,
        position=None,
        encoder=encoder,
        decoder=decoder,
        attention=AttentionSettings(score=Choice("bilinear"), span=(Choice("same_position"),)),
        dropout=0.0,
        tied="none",
    )
    model = build_translator(settings, VOCAB, VOCAB)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.004)
    for _ in range(updates):
        batch = drawn(ROWS, cipher, 1, SEEN)
        optimizer.zero_grad()
        (model.nll(batch).sum() / batch.count).backward()
        optimizer.step()
    return model.eval()


@pytest.mark.usefixtures("learning_seed")
@pytest.mark.parametrize("name", MODELS)
def test_a_hundred_of_a_hundred_strings_are_right(name):
    cipher = torch.randperm(LETTERS)
    model = trained(name, cipher, updates=80)
    for shortest, longest in ((1, SEEN), (SEEN + 1, LONGEST)):
        batch = drawn(HELD, cipher, shortest, longest)
        with torch.inference_mode():
            found = [best.ids for best, *_ in GreedySearch().run(model, batch)]
        wanted = [[number for number in row if number > EOS] for row in batch.sequences("target").items.tolist()]
        assert sum(one == other for one, other in zip(found, wanted, strict=True)) == HELD


@pytest.mark.usefixtures("learning_seed")
@pytest.mark.parametrize("by", ["saliency", "gradient_times_input"])
def test_gradients_link_letters_without_attention(by):
    """As arXiv:1610.10099 aligned words: at least 95 of 100 letters rest most on their own."""
    cipher = torch.randperm(LETTERS)
    model, method = trained("bytenet", cipher, updates=80), RELEVANCES.build(Choice(by))
    right = total = 0
    for _ in range(10):
        batch = drawn(1, cipher, 1, SEEN)
        letters = int(batch.sequences("source").mask.sum()) - 1
        found = method.of(Question(model, batch, ("source", "target"))).words[0][:letters, :letters]
        right += int((found.argmax(dim=1) == torch.arange(letters)).sum())
        total += letters
    assert right >= 0.95 * total
