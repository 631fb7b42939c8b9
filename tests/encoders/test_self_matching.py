"""Self-matching against a loop over the words, and what stays the same under padding."""

import torch
from torch import Tensor

from regard.encoders import ENCODERS
from regard.encoders.self_matching import SelfMatchingEncoder
from regard.models import AttentionSettings
from regard.models.build import build_sockets
from regard.records import Sequences
from regard.registry import Choice

DIM, HIDDEN = 4, 3
LENGTHS = [5, 2, 0]
MASK = torch.arange(5) < torch.tensor(LENGTHS).unsqueeze(-1)


def build(score: str = "additive", cell: str = "rnn") -> SelfMatchingEncoder:
    settings = AttentionSettings(score=Choice(score))
    choice = Choice("self_matching", {"hidden_dim": HIDDEN, "cell": Choice(cell), "dropout": 0.0})
    return ENCODERS.build(choice, DIM, build_sockets(settings, settings)).double().requires_grad_(False)


def vectors() -> Tensor:
    return torch.randn(3, 5, DIM, dtype=torch.float64)


def test_what_the_network_reads_equals_a_loop(assert_agrees, monkeypatch):
    encoder, words, read = build(), vectors(), []
    layer = encoder.layer.forward
    monkeypatch.setattr(encoder.layer, "forward", lambda inputs, mask: (read.append(inputs), layer(inputs, mask))[1])
    encoded = encoder(Sequences(words, MASK))
    score = encoder.attention.score
    for row, length in enumerate(LENGTHS):
        for place in range(length):
            asked = words[row, place].unsqueeze(0)
            scores = torch.cat([score(asked, score.prepare(words[row, j].unsqueeze(0)), None) for j in range(length)])
            weights = scores.squeeze(-1).softmax(dim=0)
            seen = sum(weights[j] * words[row, j] for j in range(length))
            joined = torch.cat([words[row, place], seen])
            gate = 1 / (1 + torch.exp(-(encoder.to_gate.weight @ joined)))
            assert_agrees("D12", read[0][row, place], gate * joined)
    assert encoded.states.shape == (3, 5, encoder.dim) and encoder.dim == 2 * HIDDEN


def test_a_word_may_see_every_other_one():
    encoder, words = build(), vectors()[:1]
    changed = words.clone()
    changed[0, 4] += 1.0
    mask = MASK[:1]
    first, second = (
        encoder.attention(one, encoder.attention.remember(one, mask=mask)).context for one in (words, changed)
    )
    assert bool(((first - second).abs().amax(dim=-1) > 0).all())
