"""The contract of feed-forward sublayers."""

from torch import nn

from regard.layers.layer import Layer


class FeedForward(Layer):
    """The sublayer after attention. Built with (dim, hidden_dim) and `dropout`; its outputs have the width `dim`."""

    whole = False  # True: needs the whole sequence, so it cannot be in a decoder; it has no past

    def relu_layers(self) -> tuple[nn.Linear, nn.Linear] | None:
        """Return the two layers of max(0, x W1 + b1) W2 + b2; None for other networks."""
        return None
