"""Arrays by the type of their numbers, as signatures name them."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]
