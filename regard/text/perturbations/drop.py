"""Words that are left out."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regard.arrays import Floats
from regard.text.perturbations.perturbation import Perturbation


class DropPerturbation(Perturbation):
    """w_i → nothing for each chosen word i; where all are chosen, one stays, the last by its random number."""

    aliases = "deletion, omission"

    def __call__(self, text: str, line: int) -> str:
        changed = super().__call__(text, line)
        return text if changed == text else " ".join(changed.split())

    def changed(self, words: Sequence[str], chosen: NDArray[np.bool_], rng: Floats) -> list[str]:
        kept = ~chosen
        if len(words) and not kept.any():
            kept[rng[:, 0].argmax()] = True
        return [word if stays else "" for word, stays in zip(words, kept, strict=True)]
