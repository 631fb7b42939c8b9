"""Features of a language model: the sum of its layers by hand, and what a frozen one keeps."""

import pytest
import torch
from networks import columns_of
from torch import tensor
from torch.testing import assert_close

from regard.encoders import ENCODERS
from regard.models import MODELS, ROUTE
from regard.records import EOS, PAD, Batch, Sequences
from regard.registry import Choice
from regard.runs.initial import names_by_part

ITEMS = tensor([[5, 6, 7, EOS], [4, EOS, PAD, PAD]])
MASK = ITEMS != PAD


def encoder(**settings):
    torch.manual_seed(4)
    given = {"num_layers": 2, "dropout": 0.0, **settings}
    return ENCODERS.build(Choice("language_model_features", given), 6, None).double()


def vectors():
    return torch.randn(2, 4, 6, dtype=torch.float64, requires_grad=True)


@torch.no_grad()
def test_states_are_the_weighted_sum_of_layers():
    part, given = encoder(), vectors()
    part.mix.copy_(tensor([0.1, -1.0, 2.0]))
    part.gamma.fill_(3.0)
    found = part(Sequences(given, MASK))
    shares = torch.exp(part.mix) / torch.exp(part.mix).sum()
    for row, length in enumerate((4, 2)):
        text = given[row : row + 1, :length]
        layers = [text.repeat(1, 1, 2)]
        ahead = back = torch.cat([part.reader.forwards.start.view(1, 1, -1), text], dim=1)
        back = torch.cat([part.reader.backwards.start.view(1, 1, -1), text.flip(1)], dim=1)
        for number in range(2):
            written, turned = (
                way.layers[number](states, None)[0]
                for way, states in ((part.reader.forwards, ahead), (part.reader.backwards, back))
            )
            ahead, back = (written + ahead, turned + back) if number else (written, turned)
            layers.append(torch.cat([ahead[:, 1:], back[:, 1:].flip(1)], dim=-1))
        wanted = 3.0 * sum(share * layer for share, layer in zip(shares, layers, strict=True))
        assert_close(found.states[row, :length], wanted[0])
        assert bool((found.states[row, length:] == 0).all())
        assert_close(found.final[row], wanted[0].mean(dim=0))


def test_a_frozen_model_learns_nothing_but_its_mixture():
    part, given = encoder(frozen=True, above=Choice("recurrent", {"hidden_dim": 4})).train(), vectors()
    part(Sequences(given, MASK)).states.sum().backward()
    learnt = {name for name, parameter in part.named_parameters() if parameter.grad is not None}
    assert given.grad is None
    assert learnt == {name for name, _ in part.named_parameters() if not name.startswith("reader.")}
    free, given = encoder().train(), vectors()
    free(Sequences(given, MASK)).states.sum().backward()
    assert given.grad is not None and all(parameter.grad is not None for parameter in free.parameters())


@pytest.mark.parametrize("frozen", [False, True])
def test_a_frozen_model_is_read_without_dropout_in_training(frozen):
    part, given = encoder(frozen=frozen, dropout=0.5).train(), vectors()
    text = Sequences(given, MASK)
    assert torch.equal(part.reader.read(text)[2], part.reader.read(text)[2]) == frozen


def test_a_tagger_takes_all_of_the_language_model_but_its_head():
    """Names and shapes of the parts that `init` takes, and with them the states of its layers."""
    settings = {"dim": 6, "num_layers": 2, "dropout": 0.0}
    model = MODELS.build(Choice("bidirectional_language_model", settings), columns_of(text=13)).double()
    features = Choice("language_model_features", {"num_layers": 2, "above": Choice("recurrent", {"hidden_dim": 4})})
    classifier = {"dim": 6, "dropout": 0.0, "position": None, "encoder": features}
    other = MODELS.build(Choice("classifier", classifier), columns_of(text=13, label=2)).double()
    mine, theirs = names_by_part(other), names_by_part(model)
    for part in ("embedder", "encoder"):
        assert theirs[part] and theirs[part].items() <= mine[part].items()
    other.load_state_dict(model.state_dict(), strict=False)
    batch = Batch({"text": Sequences(ITEMS, MASK)}, ROUTE, torch.arange(2), 6)
    embedded = Sequences(other.embedder(ITEMS)[0], MASK)
    before = model.decode(batch)[0].states[0]  # at each place what has read those before it
    assert_close(other.encoder.reader.read(embedded)[2][0, :-1, :6], before[1:])
