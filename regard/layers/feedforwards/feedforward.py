"""The contract of feed-forward sublayers."""

from regard.layers.layer import Layer
from regard.ops.kernels.transformer import StandardFeedForward


class FeedForward(Layer):
    """The sublayer after attention. Built with (dim, hidden_dim) and `dropout`; its outputs have the width `dim`."""

    whole = False  # True: needs the whole sequence, so it cannot be in a decoder; it has no past

    def standard(self) -> StandardFeedForward | None:
        """Return the layers of f(x W1 + b1) W2 + b2, f known to compiled code; None for other networks."""
        return None
