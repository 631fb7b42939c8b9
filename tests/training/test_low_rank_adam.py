"""Low-rank Adam against torch.optim.Adam on the two factors of LoRA, written out in the forward pass."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from regard.registry import Choice
from regard.training.optimizers import OPTIMIZERS

OUTPUT, INPUT, RANK, RATE, SCALE = 5, 7, 2, 0.05, 1.5


def matrix():
    return nn.Parameter(torch.randn(OUTPUT, INPUT, generator=torch.Generator().manual_seed(1), dtype=torch.float64))


def inputs(count):
    return torch.randn(count, 4, INPUT, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


def built(parameters, **settings):
    optimizer = OPTIMIZERS.build(Choice("low_rank_adam", {"rank": RANK, "scale": SCALE, **settings}), parameters)
    optimizer.param_groups[0]["lr"] = RATE
    return optimizer


def cost(weight, bias, batch):
    return torch.tanh(batch @ weight.T + bias).pow(2).sum()


def steps(optimizer, weight, bias, batches):
    for batch in batches:
        optimizer.zero_grad()
        cost(weight, bias, batch).backward()
        optimizer.step()


def test_low_rank_adam_equals_adam_on_lora_factors():
    weight, bias, batches = matrix(), nn.Parameter(torch.ones(OUTPUT, dtype=torch.float64)), inputs(6)
    torch.manual_seed(3)
    optimizer = built([weight, bias])
    steps(optimizer, weight, bias, batches)

    torch.manual_seed(3)
    start, up = matrix().detach(), nn.Parameter(torch.zeros(OUTPUT, RANK, dtype=torch.float64))
    down = nn.Parameter(torch.empty(RANK, INPUT, dtype=torch.float64).uniform_(-(INPUT**-0.5), INPUT**-0.5))
    oracle = torch.optim.Adam([down, up], lr=RATE, betas=(0.9, 0.98), eps=1e-9)
    for batch in batches:
        oracle.zero_grad()
        cost(start + SCALE * up @ down, torch.ones(OUTPUT, dtype=torch.float64), batch).backward()
        oracle.step()
    assert_close(weight.detach(), (start + SCALE * up @ down).detach())
    assert torch.equal(bias.detach(), torch.ones(OUTPUT, dtype=torch.float64))
    assert torch.linalg.matrix_rank(weight.detach() - start) == RANK


def test_resumed_state_gives_the_same_steps():
    batches, bias = inputs(6), nn.Parameter(torch.ones(OUTPUT, dtype=torch.float64))
    whole = matrix()
    torch.manual_seed(3)
    steps(built([whole]), whole, bias, batches)
    torch.manual_seed(3)
    first = matrix()
    optimizer = built([first])
    steps(optimizer, first, bias, batches[:3])
    second = nn.Parameter(first.detach().clone())
    resumed = built([second])
    resumed.load_state_dict(optimizer.state_dict())
    steps(resumed, second, bias, batches[3:])
    assert torch.equal(whole, second)


@pytest.mark.parametrize("settings", [{"rank": 0}, {"scale": 0}])
def test_settings_out_of_bounds_are_refused(settings):
    with pytest.raises(Exception, match=next(iter(settings))):
        built([matrix()], **settings)
