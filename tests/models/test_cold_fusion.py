"""Cold fusion: the gate by hand, closed it is the plain translator, step by step, and what it takes of a run."""

import pytest
import torch
from networks import columns_of
from torch import tensor
from torch.testing import assert_close

from regard.decoding import BeamSearch
from regard.errors import ConfigError
from regard.heads import HEADS
from regard.models import MODELS, ROUTE, Translator
from regard.models.language_model import LanguageModel
from regard.records import BOS, EOS, PAD, Batch, Sequences
from regard.registry import Choice
from regard.runs.initial import names_by_part

SIZE, DIM = 11, 8
SOURCE = tensor([[5, 6, 7, EOS], [4, EOS, PAD, PAD]])
TARGET = tensor([[6, 4, EOS], [9, 8, EOS]])
BATCH = Batch(
    {"source": Sequences(SOURCE, SOURCE != PAD), "target": Sequences(TARGET, TARGET != PAD)}, ROUTE, torch.arange(2), 6
)
LAYERS = {"num_layers": 1, "feedforward_dim": 12}


def built(name, sizes, **settings):
    torch.manual_seed(3)
    return MODELS.build(Choice(name, {"dim": DIM, **settings}), columns_of(**sizes)).double().eval()


def fused(language_model="transformer", **settings):
    parts = {part: Choice("transformer", LAYERS) for part in ("encoder", "decoder")}
    listens = LAYERS if language_model == "transformer" else {"num_layers": 1, "hidden_dim": DIM}
    choice = Choice(language_model, listens)
    return built("cold_fusion", {"source": SIZE, "target": SIZE}, **parts, language_model=choice, **settings)


@torch.no_grad()
@pytest.mark.parametrize("language_model", ["transformer", "recurrent"])
def test_states_are_gated_by_hand(language_model):
    model = fused(language_model)
    decoder = model.decoders[ROUTE]
    plain = Translator(model.encoders, {ROUTE: decoder.decoder}, model.heads, model.routes)
    reader = decoder.embedder.language_model
    text = LanguageModel(reader, HEADS.build(Choice("linear"), reader.dim, SIZE, None))
    heard = text.decode(BATCH._replace(columns={"text": BATCH.columns["target"]}))[0].states
    states, told = plain.decode(BATCH)[0].states, heard @ decoder.projection.weight.T + decoder.projection.bias
    gate = 1 / (1 + torch.exp(-(torch.cat([states, told], -1) @ decoder.gate.weight.T + decoder.gate.bias)))
    assert_close(model.decode(BATCH)[0].states, states + gate * told)
    assert float((gate * told).abs().min()) > 0


@torch.no_grad()
def test_a_closed_gate_is_the_plain_translator():
    model = fused()
    decoder = model.decoders[ROUTE]
    plain = Translator(model.encoders, {ROUTE: decoder.decoder}, model.heads, model.routes)
    before = model.nll(BATCH)
    decoder.gate.weight.zero_()
    decoder.gate.bias.fill_(float("-inf"))
    assert torch.equal(model.nll(BATCH), plain.nll(BATCH))
    assert not torch.equal(before, plain.nll(BATCH))
    found, wanted = (BeamSearch(size=3, n_best=2).run(one, BATCH) for one in (model, plain))
    assert [[one.ids for one in some] for some in found] == [[one.ids for one in some] for some in wanted]


@torch.no_grad()
@pytest.mark.parametrize("language_model", ["transformer", "recurrent"])
def test_step_by_step_is_all_at_once(language_model):
    """Rows change places, as in a beam."""
    model = fused(language_model)
    state, found = model.start(BATCH).select(tensor([1, 0])), []
    for ids in (tensor([BOS, BOS]), *TARGET[:, :-1].T):
        step, state = model.step(ids.flip(0)[:, None], state)
        found.append(step.log_probs.flip(0))
        state = state.select(tensor([1, 0])).select(tensor([1, 0]))
    log_probs = torch.stack(found, dim=1)
    assert_close(-log_probs.gather(-1, TARGET.unsqueeze(-1)).squeeze(-1), model.nll(BATCH))


def test_a_language_model_fits_in_by_its_parts():
    """Its embedder and its decoder, of the same names and shapes; with both the model listens as that one reads."""
    model = fused()
    other = built("language_model", {"text": SIZE}, decoder=Choice("transformer", LAYERS))
    mine, theirs = names_by_part(model), names_by_part(other)
    state, values = model.state_dict(), other.state_dict()
    for part in ("embedder", "decoder"):
        assert mine[part].keys() == theirs[part].keys() and theirs[part]
        for key, name in mine[part].items():
            state[name].copy_(values[theirs[part][key]])
    named = {state[name].data_ptr() for names in mine.values() for name in names.values()}
    assert named == {one.data_ptr() for one in state.values()}
    wanted = other.decode(BATCH._replace(columns={"text": BATCH.columns["target"]}))[0].states
    read = torch.cat([torch.full((2, 1), BOS), TARGET[:, :-1]], dim=1)
    assert_close(model.decoders[ROUTE].embedder(read)[0][..., DIM:], wanted)


def test_a_language_model_that_must_know_padding_is_refused():
    with pytest.raises(ConfigError, match=r"language_model: .*depend on other rows"):
        built(
            "cold_fusion",
            {"source": SIZE, "target": SIZE},
            language_model=Choice("bytenet", {"norm": Choice("sub_batch")}),
        )


def test_all_of_it_learns():
    model = fused().train()
    model.nll(BATCH).sum().backward()
    assert [name for name, one in model.named_parameters() if one.grad is None or not one.grad.any()] == []
