"""What an attention is for stands on the attention, so no name of a module says it."""

import pytest
import torch
from networks import build_language_model, build_translator
from torch import nn
from torch.testing import assert_close

from regard.attention import Role, recording
from regard.attention.attention import attentions_in
from regard.encoders import ENCODERS
from regard.explain.maps import attention_maps
from regard.models import ROUTE, AttentionSettings, Translator
from regard.objectives import OBJECTIVES, Context, PenalisedObjective, build_penalties
from regard.records import EOS, PAD, Batch, Sequences
from regard.registry import Choice

ENCODER, OWN, CROSS = Role("source", "source"), Role("target", "target", causal=True), Role("target", "source")
STATES = Role("source", "source", causal=True)  # of a network that looks at its own states
BLOCKS = Choice("transformer", {"num_layers": 1, "feedforward_dim": 8})
CELLS = Choice("recurrent", {"hidden_dim": 8, "cell": Choice("lstmn")})
MODELS = {
    "transformer": (BLOCKS, BLOCKS, [ENCODER, OWN, CROSS]),
    "lstmn": (CELLS, CELLS, [STATES, STATES._replace(reversed=True), OWN, CROSS]),
    "three_attention": (Choice("self_attention"), Choice("three_attention", {"num_layers": 1}), [ENCODER, OWN, CROSS]),
    "convs2s": (
        Choice("convolutional", {"hidden_dim": 8, "num_layers": 1}),
        Choice("convolutional", {"hidden_dim": 8, "num_layers": 1}),
        [CROSS],
    ),
}


def translator(encoder: Choice, decoder: Choice, weighting: str = "softmax") -> Translator:
    attention = AttentionSettings(num_heads=2, weighting=Choice(weighting))
    settings = {"dim": 8, "encoder": encoder, "decoder": decoder, "attention": attention, "dropout": 0.0}
    return build_translator(settings, 9, 9).double().eval()


@pytest.fixture
def batch() -> Batch:
    sources = torch.tensor([[5, 6, 7, EOS], [4, EOS, PAD, PAD]])
    targets = torch.tensor([[6, 7, EOS], [8, EOS, PAD]])
    columns = {"source": Sequences(sources, sources != PAD), "target": Sequences(targets, targets != PAD)}
    return Batch(columns, ROUTE, torch.arange(2), 5)


def rename_everything(model: nn.Module) -> None:
    """Another name for every attribute that is a module; what asks for the old one still gets it."""
    for module in [*model.modules()]:
        if isinstance(module, nn.ModuleList | nn.ModuleDict) or not module._modules:
            continue
        names = [*module._modules]
        ways = {name: property(lambda self, name=name: self._modules[f"renamed_{name}"]) for name in names}
        for name in names:
            module._modules[f"renamed_{name}"] = module._modules.pop(name)
        module.__class__ = type(type(module).__name__, (type(module),), ways)


@pytest.mark.parametrize("name", MODELS)
def test_sockets_and_layers_stamp_roles(name):
    encoder, decoder, wanted = MODELS[name]
    roles = [part.role for part in attentions_in(translator(encoder, decoder)).values()]
    assert sorted(roles) == sorted(wanted)


def test_language_model_looks_from_text_to_text():
    model = build_language_model({"dim": 8, "decoder": BLOCKS}, 9)
    assert [part.role for part in attentions_in(model).values()] == [Role("text", "text", causal=True)]


def test_reading_backwards_turns_roles_around():
    settings = {"cell": Choice("lstmn"), "hidden_dim": 8, "reverse": True}
    encoder = ENCODERS.build(Choice("recurrent", settings), 8, None)
    assert [part.role.reversed for part in attentions_in(encoder).values()] == [True, False]


@pytest.mark.parametrize("name", MODELS)
def test_maps_do_not_depend_on_attribute_names(name, batch):
    model = translator(*MODELS[name][:2])
    found = []
    for _ in range(2):
        with torch.no_grad(), recording(model) as records:
            model.nll(batch)
        maps = attention_maps(records, 0, {"source": 4, "target": 3})
        found.append([(one.kind, one.layer, one.weights) for one in maps])
        rename_everything(model)
    assert found[0] == found[1] and len(found[0]) == len(MODELS[name][2])


@pytest.mark.parametrize("penalty", ["doubly_stochastic", "overlap"])
@pytest.mark.parametrize("name", MODELS)
def test_penalties_do_not_depend_on_attribute_names(name, penalty, batch):
    model = translator(*MODELS[name][:2])
    found = []
    for _ in range(2):
        plain = OBJECTIVES.build(Choice("likelihood"), Context(model))
        loss = PenalisedObjective(plain, build_penalties([Choice(penalty)])).loss(batch, "model")
        found.append(loss.parts[penalty])
        rename_everything(model)
    assert_close(found[0], found[1], rtol=0, atol=0)
    assert float(found[0]) > 0


@pytest.mark.parametrize("name", MODELS)
def test_reinforce_does_not_depend_on_attribute_names(name, batch):
    model = translator(*MODELS[name][:2], weighting="hard")
    found = []
    for _ in range(2):
        loss = OBJECTIVES.build(Choice("reinforce"), Context(model)).double().eval().loss(batch, "model")
        found.append((loss.sum, loss.parts))
        rename_everything(model)
    assert_close(found[0], found[1], rtol=0, atol=0)
    assert float(found[0][1]["entropy"]) > 0
