"""Gradient checkpointing: the same gradients to the bit, from fewer numbers kept."""

import copy

import pytest
import torch
from networks import build_translator
from torch.autograd.graph import saved_tensors_hooks
from torch.testing import assert_close
from writers import batch_of, sources_of

from regard.errors import ConfigError
from regard.objectives import Context, LikelihoodObjective
from regard.records import Batch, Sequences
from regard.registry import Choice
from regard.training.settings import TrainingSettings
from regard.training.updater import Updater

VOCAB = 30


@pytest.fixture
def model():
    sizes = {"num_layers": 3, "feedforward_dim": 64}
    choices = {"encoder": Choice("transformer", sizes), "decoder": Choice("transformer", sizes)}
    return build_translator({"dim": 32, "dropout": 0.3, **choices}, VOCAB, VOCAB)


@pytest.fixture
def batch():
    read, written = (batch_of(sources_of(7, VOCAB, 9, seed=seed)).sequences("source") for seed in (1, 2))
    columns: dict[str, Sequences] = {"source": read, "target": written}
    return Batch(columns, "translate", torch.arange(7), int(written.mask.sum()))


def updater_of(model, **changes):
    settings = TrainingSettings(schedule=Choice("constant"), **{"precision": "float32", **changes})
    return Updater(model, LikelihoodObjective(Context(model), label_smoothing=0.1), settings)


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_updates_are_the_same_to_the_bit(model, batch, precision):
    other = copy.deepcopy(model)
    for one, again in ((model, False), (other, True)):
        torch.manual_seed(1)  # dropout draws the same again
        updater = updater_of(one, gradient_checkpointing=again, precision=precision)
        for number in (1, 2, 3):
            updater.update([batch], number)
    state, wanted = other.state_dict(), model.state_dict()
    assert all(torch.equal(state[name], wanted[name]) for name in wanted)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # torch's compiler warns of what torch does
@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_compiled_blocks_can_be_computed_again_too(batch, precision):
    sizes = Choice("transformer", {"num_layers": 2, "feedforward_dim": 16})
    model = build_translator({"dim": 16, "dropout": 0.0, "encoder": sizes, "decoder": sizes}, VOCAB, VOCAB)
    losses = []
    for changes in ({}, {"compile": True, "gradient_checkpointing": True}):
        updater = updater_of(copy.deepcopy(model), precision=precision, **changes)
        losses.append([updater.update([batch], number).turns["model"].loss for number in (1, 2)])
    assert_close(losses[1], losses[0], rtol=1e-5 if precision == "float32" else 0.01, atol=0)
    assert losses[0][1] < losses[0][0]  # gradients have come through


def test_little_is_kept_for_the_backward_pass(model, batch):
    def kept():
        sizes: dict[int, int] = {}

        def note(tensor):
            sizes[tensor.data_ptr()] = tensor.nbytes
            return tensor

        with saved_tensors_hooks(note, lambda tensor: tensor):
            loss = updater._forward(batch, "model").sum
        del loss
        return sum(sizes.values()) - sum(one.nbytes for one in model.parameters() if one.data_ptr() in sizes)

    updater = updater_of(model)
    plain = kept()
    updater = updater_of(model, gradient_checkpointing=True)
    assert kept() < plain / 2


def test_a_model_without_blocks_is_told(batch):
    recurrent = Choice("recurrent", {"hidden_dim": 8})
    model = build_translator({"dim": 8, "encoder": recurrent, "decoder": recurrent}, VOCAB, VOCAB)
    with pytest.raises(ConfigError, match="no Transformer block"):
        updater_of(model, gradient_checkpointing=True)
