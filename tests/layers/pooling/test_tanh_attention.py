"""The attention of Att-BLSTM against a loop over states."""

import math

import torch
from torch.testing import assert_close

from regard.layers.pooling.tanh_attention import TanhAttentionPooling

DIM, LENGTH, SHOWN = 3, 6, 4


def test_equals_a_loop_over_states(assert_agrees):
    pooling = TanhAttentionPooling(DIM).double().requires_grad_(False)
    states = torch.randn(1, LENGTH, DIM, dtype=torch.float64)
    scores = [
        math.exp(sum(float(w) * math.tanh(float(h)) for w, h in zip(pooling.query[0], state, strict=True)))
        for state in states[0, :SHOWN]
    ]
    mixed = [
        sum(score / sum(scores) * float(state[place]) for score, state in zip(scores, states[0, :SHOWN], strict=True))
        for place in range(DIM)
    ]
    found = pooling(states, torch.arange(LENGTH)[None] < SHOWN)[0]
    assert_agrees("D06", found, torch.tensor([math.tanh(one) for one in mixed], dtype=torch.float64), 1e-12)


def test_one_state_is_read_whole():
    states = torch.randn(2, 1, DIM)
    assert_close(TanhAttentionPooling(DIM)(states), states[:, 0].tanh())
