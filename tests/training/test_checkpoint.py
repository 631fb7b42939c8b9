"""What is saved is what is loaded; what is damaged is told in one line."""

import json
import stat

import pytest
import torch
from torch import nn

from regard.data.sealed import SEAL
from regard.errors import CheckpointError
from regard.objectives import Context, LikelihoodObjective
from regard.training import checkpoint as files

NAMES = [files.MODEL_FILE, files.OBJECTIVE_FILE, files.OPTIMIZERS_FILE, files.GENERATORS_FILE, files.STATE_FILE, SEAL]


class Views(nn.Module):
    """Tables that are one, and others that only look like it."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(3, 3))
        self.same = self.table
        self.turned = nn.Buffer(self.table.detach().t())
        self.part = nn.Buffer(self.table.detach()[:2])
        self.none = nn.Buffer(torch.zeros(0))
        self.count = nn.Buffer(torch.tensor(3))


@pytest.mark.parametrize("make", ["tiny", "views"])
def test_a_model_is_loaded_as_it_was_saved(make, tiny, tmp_path):
    model, other = [(tiny(seed=seed) if make == "tiny" else Views()) for seed in (1, 2)]
    files.write(tmp_path / "x", files.content_of(model), {"update": 1})
    checkpoint = files.load_checkpoint(tmp_path / "x")
    assert all(torch.equal(checkpoint.model[name], value) for name, value in model.state_dict().items())
    files.load_model(other, checkpoint)
    assert checkpoint.model.keys() == other.state_dict().keys()
    assert all(torch.equal(*pair) for pair in zip(other.parameters(), model.parameters(), strict=True))


def test_tied_tables_are_written_once_and_stay_tied(tmp_path):
    model, other = Views(), Views()
    files.write(tmp_path / "x", files.content_of(model), {})
    checkpoint = files.load_checkpoint(tmp_path / "x")
    assert checkpoint.state["aliases"] == {"same": "table"}
    files.load_model(other, checkpoint)
    assert other.same is other.table


@pytest.mark.parametrize("name", ["adam", "sgd"])
def test_optimizers_objective_and_generators_come_back(tmp_path, trained, name):
    model, objective = nn.Linear(3, 2), nn.Linear(1, 1)
    optimizers = {turn: trained(model, name) for turn in ("critic", "model.b")}
    files.write(tmp_path / "x", files.content_of(model, objective, optimizers), {})
    drawn = torch.rand(9)
    others, again = {turn: trained(nn.Linear(3, 2), name) for turn in optimizers}, nn.Linear(1, 1)
    files.load_training(files.load_checkpoint(tmp_path / "x"), again, others)
    assert torch.equal(torch.rand(9), drawn)
    assert torch.equal(again.weight, objective.weight)
    for turn, optimizer in optimizers.items():
        one, other = optimizer.state_dict()["state"], others[turn].state_dict()["state"]
        assert one.keys() == other.keys()
        assert all(torch.equal(one[n][field], other[n][field]) for n in one for field in one[n])


def test_another_model_objective_or_optimizer_is_told(saved, trained):
    checkpoint = files.load_checkpoint(saved)
    with pytest.raises(CheckpointError, match="belongs to another model: size mismatch"):
        files.load_model(nn.Linear(4, 2), checkpoint)
    right, small = nn.Linear(1, 1), trained(nn.Linear(3, 2, bias=False))
    other = LikelihoodObjective(Context(right))
    for objective, optimizers in ((other, {}), (right, {"model": small}), (right, {"critic": small})):
        with pytest.raises(CheckpointError, match="belongs to another objective or optimizer") as caught:
            files.load_training(checkpoint, objective, optimizers)
        assert "\n" not in str(caught.value)


def test_others_may_read_every_file(saved):
    assert [path.name for path in saved.iterdir() if not path.stat().st_mode & stat.S_IROTH] == []


def test_what_is_saved_is_plain(saved):
    """Safetensors and JSON: nothing that runs code when it is read."""
    assert sorted(path.name for path in saved.iterdir()) == sorted(NAMES)
    assert json.loads((saved / files.STATE_FILE).read_text())["update"] == 5
