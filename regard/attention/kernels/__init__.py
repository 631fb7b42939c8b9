"""How attention is computed. The choice of a path is made here alone; every fast path is proved equal to `plain`."""

from regard.attention.kernels.choose import attend
from regard.attention.kernels.softmax import masked_softmax

__all__ = ["attend", "masked_softmax"]
