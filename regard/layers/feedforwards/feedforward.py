"""The contract of what follows attention in a block."""

from regard.layers.layer import Layer


class FeedForward(Layer):
    """Works on what attention has gathered. Built with (dim, hidden_dim) and `dropout`; its outputs are `dim` wide."""

    whole = False  # True: must know all of a sequence, so it cannot stand in a decoder; it has no past
