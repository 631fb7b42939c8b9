"""The recurrence of simple recurrent units in three implementations, which tests prove equal."""

from regard.layers.recurrent.kernels.choose import linear_recurrence, recurrence
from regard.layers.recurrent.kernels.sru import Ended, Parts

__all__ = ["Ended", "Parts", "linear_recurrence", "recurrence"]
