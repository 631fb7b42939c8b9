"""The recurrence of simple recurrent units in three implementations, which tests prove equal."""

from regard.layers.recurrent.kernels.sru import Parts

__all__ = ["Parts"]
