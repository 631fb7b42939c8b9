"""Slips of the fingers: a letter in place of which one beside it on the keyboard is hit."""

from itertools import pairwise
from typing import Annotated, Literal

from regard.config import Doc
from regard.text.perturbations.perturbation import ChangeProbability, ChangeSeed, Vectors, WordPerturbation, cased_as

LAYOUTS = {
    "qwerty": ("qwertyuiop", "asdfghjkl", "zxcvbnm"),
    "qwertz": ("qwertzuiopü", "asdfghjklöä", "yxcvbnm"),
    "azerty": ("azertyuiop", "qsdfghjklm", "wxcvbn"),
}


class KeyboardPerturbation(WordPerturbation):
    """One letter of each chosen word becomes one that is beside it on the keyboard, in its row or the next.

    A word with no letter of the layout stays. https://arxiv.org/abs/1711.02173, section 3.2 ("keyboard typo").
    """

    aliases = "keyboard_noise, fat_finger"

    def __init__(
        self,
        vectors: Vectors,
        *,
        probability: ChangeProbability = 0.1,
        layout: Annotated[Literal["qwerty", "qwertz", "azerty"], Doc("Keyboard layout.")] = "qwerty",
        seed: ChangeSeed = 1,
    ) -> None:
        super().__init__(vectors, probability=probability, seed=seed)
        self.beside = neighbours(LAYOUTS[layout])

    def of_word(self, word: str, where: float, how: float) -> str:
        places = [place for place, letter in enumerate(word) if letter.lower() in self.beside]
        if not places:
            return word
        place = places[int(where * len(places))]
        others = self.beside[word[place].lower()]
        return word[:place] + cased_as(others[int(how * len(others))], word[place]) + word[place + 1 :]


def neighbours(rows: tuple[str, ...]) -> dict[str, str]:
    """Letter → those beside it; each row of keys stands half a key to the right of the one above."""
    beside = [pair for row in rows for pair in pairwise(row)]
    for above, below in pairwise(rows):
        beside += [
            (above[place + step], key)
            for place, key in enumerate(below)
            for step in (0, 1)
            if place + step < len(above)
        ]
    return {
        key: "".join(sorted({*(b for a, b in beside if a == key), *(a for a, b in beside if b == key)}))
        for key in "".join(rows)
    }
