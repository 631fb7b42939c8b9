"""Groups of parameters against updates by hand, and a broken-off run that comes to the same weights."""

import pytest
import torch
from networks import build_translator
from safetensors.torch import load_file
from small_runs import SMALL, regard, write_texts
from torch import nn
from torch.testing import assert_close

from regard.objectives import Context, Objective
from regard.records import Batch, Loss
from regard.registry import Choice
from regard.runs import RunFolder
from regard.training.settings import TrainingSettings
from regard.training.turns import layers_of
from regard.training.updater import Updater


class Tower(nn.Module):
    """An embedder, two blocks of an encoder and a head, each a number."""

    def __init__(self) -> None:
        super().__init__()
        self.embedder = nn.Linear(1, 1)
        self.encoder = nn.ModuleDict(
            {"blocks": nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1)]), "norm": nn.LayerNorm(1)}
        )
        self.head = nn.Linear(1, 1)


class SumOfWeights(Objective):
    """Its gradient by every number is one."""

    def loss(self, batch: Batch, turn: str) -> Loss:
        return Loss(sum(one.sum() for one in self.context.model.parameters()), batch.count, {})


BATCH = Batch({}, "", torch.zeros(1, dtype=torch.long), 1)


def moved(updates: int, **changes: object) -> dict[str, float]:
    """How far each number of the tower, 1 at first, went."""
    tower = Tower().double()
    for parameter in tower.parameters():
        nn.init.ones_(parameter)
    given = {"optimizer": Choice("sgd"), "schedule": Choice("constant"), "clip_norm": 0.0, "learning_rate": 0.1}
    updater = Updater(tower, SumOfWeights(Context(tower)), TrainingSettings(**{**given, **changes}))
    for number in range(1, updates + 1):
        updater.update([BATCH], number)
    return {name: 1 - parameter.item() for name, parameter in tower.named_parameters()}


def weights_of(found: dict[str, float]) -> list[float]:
    names = ("embedder", "encoder.blocks.0", "encoder.blocks.1", "head")
    return [round(found[f"{name}.weight"], 9) for name in names]


def test_layers_count_from_the_input():
    tower = Tower()
    layers = layers_of(tower)
    found = {name: layers.of[id(parameter)] for name, parameter in tower.named_parameters() if name.endswith("weight")}
    assert found == {
        "embedder.weight": 0,
        "encoder.blocks.0.weight": 1,
        "encoder.blocks.1.weight": 2,
        "encoder.norm.weight": 2,
        "head.weight": 3,
    }


def test_layers_of_a_translator_count_in_both_stacks():
    sizes = Choice("transformer", {"num_layers": 2, "feedforward_dim": 8})
    model = build_translator({"dim": 8, "encoder": sizes, "decoder": sizes}, 9, 9)
    layers, names = layers_of(model), {"feedforward.to_out.weight", "norm.weight", "table"}
    found = {
        name.partition(".translate.")[2]: layers.of[id(parameter)]
        for name, parameter in model.named_parameters()
        if any(name.endswith(f".{end}") for end in names)
    }
    assert found == {
        "embedder.table": 0,  # tied to the decoder's and to the head's
        **{
            f"{stack}blocks.{block}.feedforward.to_out.weight": block + 1
            for stack in ("encoder.", "")
            for block in (0, 1)
        },
        **{f"{stack}norm.weight": 2 for stack in ("encoder.", "")},
    }
    assert layers.top == 2  # nothing learns above


def test_each_layer_learns_at_a_share_of_the_one_above():
    assert weights_of(moved(1, layer_decay=0.5)) == [0.0125, 0.025, 0.05, 0.1]


def test_layers_begin_to_learn_from_the_top():
    assert weights_of(moved(5, unfreeze_every=2)) == [0.0, 0.1, 0.3, 0.5]


def test_what_is_frozen_does_not_count_for_clipping():
    found = moved(1, unfreeze_every=2, clip_norm=1.0)
    assert found["head.weight"] == pytest.approx(0.1 / 2**0.5)  # of two numbers, weight and bias


def test_biases_and_normalisations_do_not_decay():
    settings = {"optimizer": Choice("adamw", {"weight_decay": 0.5}), "learning_rate": 0.1}
    both = [moved(1, **settings, weight_decay_of=which) for which in ("all", "matrices")]
    difference = {name: round(both[0][name] - both[1][name], 9) for name in both[0]}
    assert difference == {name: 0.05 if "bias" in name or "norm" in name else 0.0 for name in difference}


def test_a_run_in_groups_that_was_broken_off_comes_to_the_same_weights(tmp_path):
    settings = ["training.layer_decay=0.8", "training.unfreeze_every=1", "training.weight_decay_of=matrices"]
    settings += ["training.optimizer=adamw", *SMALL, *write_texts(tmp_path), "--quiet"]
    assert regard("train", *settings, "training.max_updates=4", "--run", tmp_path / "whole").code == 0
    assert regard("train", *settings, "training.max_updates=2", "--run", tmp_path / "broken").code == 0
    done = regard("train", "--run", tmp_path / "broken", "--resume", "training.max_updates=4", "--quiet")
    assert done.code == 0, done.said
    found = [
        load_file(RunFolder(tmp_path / run).checkpoint().folder / "model.safetensors") for run in ("whole", "broken")
    ]
    assert_close(*found, rtol=0, atol=0)
    refused = regard("train", "--run", tmp_path / "broken", "--resume", "training.layer_decay=0.5")
    assert refused.code == 2 and "training.layer_decay" in refused.said
