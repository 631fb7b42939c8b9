"""Sparse gradients give the updates of dense ones: clipped, summed over batches and processes, saved and restored."""

import copy
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.testing import assert_close

from regard.objectives import Context, Objective
from regard.records import Batch, Loss
from regard.registry import Choice
from regard.training import checkpoint as files
from regard.training.settings import TrainingSettings
from regard.training.updater import Updater
from regard.training.world import World

EXACT = {"rtol": 0, "atol": 1e-12}
VISITS = [[1, 4, 4], [4, 7, 0], [2, 2, 2]]


class Table(nn.Module):
    def __init__(self, *, sparse: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(9, 3, generator=torch.Generator().manual_seed(1)).double())
        self.sparse = sparse


class Cubes(Objective):
    """The sum of the cubes of the rows that a batch names."""

    def loss(self, batch, turn):
        table = self.context.model
        found = functional.embedding(batch.columns["ids"], table.weight, sparse=table.sparse)
        return Loss(found.pow(3).sum(), batch.count, {})


class Pair(World):
    """One of two processes, which are threads here."""

    barrier, said = Barrier(2, timeout=20), [None, None]

    def gather(self, value):
        self.said[self.rank] = value
        self.barrier.wait()
        found = list(self.said)
        self.barrier.wait()
        return found

    def sum(self, tensors):
        every = self.gather([tensor.clone() for tensor in tensors])
        for tensor, *parts in zip(tensors, *every, strict=True):
            tensor.copy_(sum(parts))

    def spread(self, tensors):
        """Both begin with the same weights."""


def batch_of(ids: list[int]) -> Batch:
    return Batch({"ids": torch.tensor(ids, dtype=torch.int64)}, "r", torch.arange(len(ids)), len(ids))


def updater_of(model: nn.Module, optimizer: str, world: World = World(), clip_norm: float = 0.05) -> Updater:  # noqa: B008  a constant
    settings = TrainingSettings(
        optimizer=Choice(optimizer),
        schedule=Choice("constant"),
        precision="float32",
        clip_norm=clip_norm,
        learning_rate=0.1,
    )
    return Updater(model, Cubes(Context(model)), settings, world)


@pytest.mark.parametrize("optimizer", ["sgd", "lazy_adam", "adam", "nesterov"])
@pytest.mark.parametrize("clip_norm", [0.0, 0.05])
def test_sparse_gradients_train_as_dense_ones_do(optimizer, clip_norm):
    models = [Table(sparse=sparse) for sparse in (True, False)]
    norms = []
    for model in models:
        updater = updater_of(model, optimizer, clip_norm=clip_norm)
        for number in range(1, 5):
            done = updater.update([batch_of(ids) for ids in VISITS[: number % 3 + 1]], number)
            norms.append(done.turns["model"].norm)
    assert_close(models[0].weight, models[1].weight, **EXACT)
    assert norms[:4] == pytest.approx(norms[4:], rel=1e-12)


@pytest.mark.parametrize("optimizer", ["sgd", "lazy_adam"])
def test_two_processes_sum_their_rows(optimizer):
    models = [Table(sparse=True) for _ in range(3)]
    several = [updater_of(model, optimizer, Pair(rank, 2)) for rank, model in enumerate(models[:2])]
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda one: one[0].update([batch_of(one[1])], 1), zip(several, VISITS[:2], strict=False)))
    updater_of(models[2], optimizer).update([batch_of(ids) for ids in VISITS[:2]], 1)
    assert_close(models[0].weight, models[2].weight, **EXACT)
    assert torch.equal(models[0].weight, models[1].weight)


@pytest.mark.parametrize("found", [["", "sparse"], ["dense", "sparse"], ["sparse", "dense"]])
def test_processes_agree_on_the_kind_of_a_gradient(found):
    """A process without rows, or with a dense gradient, meets one with some rows."""
    models = [Table(sparse=True) for _ in found]
    updaters = [updater_of(model, "sgd", Pair(rank, 2)) for rank, model in enumerate(models)]

    def joined(rank: int) -> torch.Tensor:
        weight, kind = models[rank].weight, found[rank]
        dense = torch.zeros(9, 3).double().index_fill_(0, torch.tensor([rank]), 1.0)
        weight.grad = {"": None, "dense": dense, "sparse": dense.to_sparse(1).coalesce()}[kind]
        updaters[rank]._join(weight, found)
        return weight.grad

    with ThreadPoolExecutor(2) as threads:
        gradients = list(threads.map(joined, range(2)))
    if "dense" in found:
        assert not any(gradient.is_sparse for gradient in gradients)
    else:
        assert torch.equal(gradients[0].to_dense(), gradients[1].to_dense())
        assert gradients[0].indices().tolist() == [[1]]


def test_training_on_rows_goes_on_from_a_checkpoint(tmp_path):
    whole = Table(sparse=True)
    updater = updater_of(whole, "lazy_adam")
    updater.update([batch_of(VISITS[0])], 1)
    files.write(tmp_path / "one", files.content_of(whole, updater._objective, updater.turns.optimizers), {})
    other, checkpoint = copy.deepcopy(whole), files.load_checkpoint(tmp_path / "one")
    again = updater_of(other, "lazy_adam")
    files.load_model(other, checkpoint)
    files.load_training(checkpoint, again._objective, again.turns.optimizers)
    for one in (updater, again):
        one.update([batch_of(VISITS[1])], 2)
    assert torch.equal(whole.weight, other.weight)
