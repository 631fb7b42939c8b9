"""One step after the other, in plain torch: what the other ways are measured by."""

import torch
from torch import Tensor

from regard.layers.recurrent.kernels.parts import Ended, Parts


def loop(parts: Parts) -> Ended:
    """The equations as they stand, for any type of number and any device."""
    state, outputs = parts.start, []
    forget_bias, reset_bias = parts.biases
    skipped = parts.scale * parts.skipped()
    steps = zip(parts.products.unbind(dim=1), skipped.unbind(dim=1), strict=True)  # one gradient for all slices
    for place, (products, skip) in enumerate(steps):
        new, forget, reset = products[:, 0], products[:, 1], products[:, 2]
        if parts.peepholes is not None:
            forget, reset = forget + parts.peepholes[0] * state, reset + parts.peepholes[1] * state
        f, r = torch.sigmoid(forget + forget_bias), torch.sigmoid(reset + reset_bias)
        after = f * state + (1 - f) * new
        shown = torch.tanh(after) if parts.tanh else after
        output = r * shown + (1 - r) * skip
        if parts.mask is not None:
            real = parts.mask[:, place].unsqueeze(-1)
            after, output = torch.where(real, after, state), output.masked_fill(~real, 0.0)
        state = after
        outputs.append(output)
    return Ended(torch.stack(outputs, dim=1) if outputs else skipped, state)


def linear_loop(decays: Tensor, added: Tensor, start: Tensor) -> Tensor:
    """decays and added (batch, n, dim), start (batch, dim) → c (batch, n, dim), c_t = decay_t · c_(t-1) + added_t."""
    state, states = start, []
    for decay, more in zip(decays.unbind(dim=1), added.unbind(dim=1), strict=True):
        state = decay * state + more
        states.append(state)
    return torch.stack(states, dim=1) if states else added
