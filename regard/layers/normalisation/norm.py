"""The contract of normalisations."""

from regard.config.bounds import NotNegative
from regard.layers.layer import Layer

Eps = NotNegative  # what is added to a variance, so that nothing is divided by 0


class Norm(Layer):
    """A layer of (dim,) → (dim,) that can stand anywhere in a stack, and be exchanged for another.

    `by_others`: in training one half of a batch is normalised by the other. Then the other half must not be learnt
    from, and the mask must tell padding in decoders, too, since words of other rows are looked at wherever they stand.
    """

    by_others = False
