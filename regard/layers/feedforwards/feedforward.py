"""The contract of what follows attention in a block."""

from torch import nn

from regard.layers.layer import Layer


class FeedForward(Layer):
    """Works on what attention has gathered. Built with (dim, hidden_dim) and `dropout`; its outputs are `dim` wide."""

    whole = False  # True: must know all of a sequence, so it cannot stand in a decoder; it has no past

    def relu_layers(self) -> tuple[nn.Linear, nn.Linear] | None:
        """Return the two layers of max(0, x W1 + b1) W2 + b2; None where it is not that."""
        return None
