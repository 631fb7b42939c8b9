"""Words that change places with the next one."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regard.arrays import Floats
from regard.text.perturbations.perturbation import Perturbation


class SwapPerturbation(Perturbation):
    """w_i w_(i+1) → w_(i+1) w_i for each chosen word i, from left to right; a word moves once at most."""

    aliases = "word_order"

    def changed(self, words: Sequence[str], chosen: NDArray[np.bool_], rng: Floats) -> list[str]:
        found, place = list(words), 0
        while place + 1 < len(found):
            if chosen[place]:
                found[place], found[place + 1] = found[place + 1], found[place]
                place += 1
            place += 1
        return found
