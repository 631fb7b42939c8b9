"""Convolutions that a recurrent network asks, by loops over windows, and against torch's own LSTM."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.attention import recording
from regard.layers.pooling import POOLINGS
from regard.registry import Choice

LENGTH, DIM, MAPS, HIDDEN = 7, 3, 4, 5
LENGTHS = [7, 5, 3, 1, 0]  # the last three are shorter than the widest window
MASK = torch.arange(LENGTH) < torch.tensor(LENGTHS).unsqueeze(-1)
WINDOWS = (2, 4)


def pooling(score: str) -> nn.Module:
    settings = {"kernel_sizes": WINDOWS, "num_filters": MAPS, "hidden_dim": HIDDEN, "score": score}
    made = POOLINGS.build(Choice("convolutional_query", settings), DIM).double().eval()
    for parameter in made.parameters():
        nn.init.normal_(parameter)
    return made.requires_grad_(False)


def question(model: nn.Module, text: Tensor) -> Tensor:
    """W [last state of each way], read by torch's own network with the same weights."""
    ends = []
    for layer, words in ((model.reader.forwards, text), (model.reader.backwards, text.flip(0))):
        lstm = nn.LSTM(DIM, HIDDEN).double()
        weights = {name.rpartition(".")[2]: value for name, value in layer.state_dict().items()}
        lstm.load_state_dict({name: weights[name] for name in lstm.state_dict()})
        ends.append(lstm(words.unsqueeze(1))[1][0].flatten())
    return (model.to_query.weight @ torch.cat(ends)).detach()


def by_a_loop(model: nn.Module, text: Tensor) -> Tensor:
    """Each width: what its windows find, weighted by how well it answers the question."""
    asked = question(model, text)
    words = torch.cat([text, text.new_zeros(max(0, max(WINDOWS) - len(text)), DIM)])
    pooled = []
    for filters, width in zip(model.filters, WINDOWS, strict=True):
        starts = [start for start in range(len(words) - width + 1) if start < len(text)]
        found = [
            (filters.weight * words[start : start + width].t()).sum(dim=(1, 2)).add(filters.bias).relu()
            for start in starts
        ]
        powers = [math.exp(float(asked @ maps)) for maps in found]
        pooled.append(sum(power / sum(powers) * maps for power, maps in zip(powers, found, strict=True)))
    return torch.cat([*pooled, asked]).detach()


def test_equals_a_loop_over_windows(assert_agrees):
    model, states = pooling("dot"), torch.randn(len(LENGTHS), LENGTH, DIM, dtype=torch.float64)
    pooled = model(states, MASK)
    assert pooled.shape == (len(LENGTHS), model.out_dim) == (len(LENGTHS), MAPS * 3)
    for row, length in enumerate(LENGTHS[:-1]):
        assert_agrees("A30", pooled[row], by_a_loop(model, states[row, :length]), tolerance=1e-10)


@pytest.mark.parametrize("score", ["dot", "bilinear"])
def test_weights_stand_at_the_first_word_of_each_window(score):
    model, states = pooling(score), torch.randn(len(LENGTHS), LENGTH, DIM, dtype=torch.float64)
    with recording(model) as records:
        pooled = model(states, MASK)
    assert_close(pooled, model(states, MASK))
    for number, width in enumerate(WINDOWS):
        weights = records[f"attentions.{number}"].answers[0].weights
        assert weights.shape == (len(LENGTHS), 1, LENGTH)
        for row, length in enumerate(LENGTHS):
            windows = min(length, max(*WINDOWS, length) - width + 1)
            assert (weights[row, 0] > 0).tolist() == [True] * windows + [False] * (LENGTH - windows)
