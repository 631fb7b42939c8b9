"""The contract of normalisations."""

from regard.config.bounds import NotNegative
from regard.layers.layer import Layer

Eps = NotNegative  # added to a variance, against division by 0


class Norm(Layer):
    """A layer of (dim,) → (dim,) that fits anywhere in a stack, and is interchangeable with others.

    `by_others`: in training one half of a batch is normalised by the other. Then the other half must have no loss, and
    the mask must mark padding in decoders, too, since words of other rows are read at all places.
    """

    by_others = False
