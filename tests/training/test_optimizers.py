"""Optimizers by their published formulas, and through the trainer's checkpoints."""

import pytest
import torch
from torch import Tensor, nn

from regard.registry import Choice
from regard.training import checkpoint as files
from regard.training.optimizers import OPTIMIZERS
from regard.training.settings import TrainingSettings
from regard.training.turns import Turn

STEPS = 20


def slope(place: Tensor) -> Tensor:
    """Of 2 x² + y⁴ / 4."""
    return torch.stack([4 * place[0], place[1] ** 3])


def walked(name: str, rate: float, **settings: float) -> Tensor:
    """The places of a parameter after each step from (1, -2)."""
    parameter, places = nn.Parameter(torch.tensor([1.0, -2.0], dtype=torch.float64)), []
    optimizer = OPTIMIZERS.build(Choice(name, settings), [parameter])
    optimizer.param_groups[0]["lr"] = rate
    for _ in range(STEPS):
        parameter.grad = slope(parameter.detach())
        optimizer.step()
        places.append(parameter.detach().clone())
    return torch.stack(places)


def test_adadelta_is_algorithm_1_of_its_paper(assert_agrees):
    rho, eps = 0.95, 1e-6
    place, places = torch.tensor([1.0, -2.0], dtype=torch.float64), []
    squares, steps = torch.zeros(2).double(), torch.zeros(2).double()
    for _ in range(STEPS):
        gradient = slope(place)
        squares = rho * squares + (1 - rho) * gradient**2
        step = -(steps + eps).sqrt() / (squares + eps).sqrt() * gradient
        steps = rho * steps + (1 - rho) * step**2
        place = place + step
        places.append(place)
    assert_agrees("C03", walked("adadelta", 1.0), torch.stack(places), tolerance=1e-12)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("centered", [False, True])
def test_rmsprop_is_its_formula(momentum, centered):
    alpha, eps, rate = 0.9, 1e-8, 0.01
    place, places = torch.tensor([1.0, -2.0], dtype=torch.float64), []
    squares, mean, step = torch.zeros(2).double(), torch.zeros(2).double(), torch.zeros(2).double()
    for _ in range(STEPS):
        gradient = slope(place)
        squares = alpha * squares + (1 - alpha) * gradient**2
        mean = alpha * mean + (1 - alpha) * gradient
        spread = squares - mean**2 if centered else squares
        step = momentum * step + gradient / (spread.sqrt() + eps)
        place = place - rate * step
        places.append(place)
    found = walked("rmsprop", rate, alpha=alpha, momentum=momentum, centered=centered)
    torch.testing.assert_close(found, torch.stack(places), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_restored_optimizer_goes_on_as_if_unbroken(name, tmp_path):
    def made() -> tuple[nn.Linear, torch.optim.Optimizer]:
        model = nn.Linear(3, 2)
        return model, OPTIMIZERS.build(Choice(name), model.parameters())

    def step(model: nn.Linear, optimizer: torch.optim.Optimizer) -> None:
        for number, parameter in enumerate(model.parameters(), 1):
            parameter.grad = parameter.detach() + number
        optimizer.step()

    whole, objective = made(), nn.Linear(1, 1)
    step(*whole)
    files.write(tmp_path / "one", files.content_of(whole[0], objective, {"model": whole[1]}), {})
    checkpoint, other = files.load_checkpoint(tmp_path / "one"), made()
    files.load_model(other[0], checkpoint)
    files.load_training(checkpoint, objective, {"model": other[1]})
    for _ in range(3):
        step(*whole)
        step(*other)
    assert all(map(torch.equal, whole[0].parameters(), other[0].parameters()))


@pytest.mark.parametrize("name", sorted(OPTIMIZERS))
def test_update_counts_as_a_change_of_weights(name):
    """torch counts the changes of a tensor, but not those by its fused optimizers; packed weights would be stale."""
    parameter = nn.Parameter(torch.ones(3))
    turn = Turn("model", TrainingSettings(optimizer=Choice(name)), [parameter])
    before = parameter._version
    parameter.grad = torch.ones(3)
    turn.step(1)
    assert parameter._version > before
