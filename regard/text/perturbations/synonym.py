"""Words in place of which a near one stands."""

from typing import Annotated

from regard.config import Doc
from regard.config.bounds import Size
from regard.text.perturbations.perturbation import ChangeProbability, ChangeSeed, Vectors, WordPerturbation, cased_as


class SynonymPerturbation(WordPerturbation):
    """Each chosen word becomes one of the `count` words whose vectors are nearest by the cosine, sampled uniformly.

    Words that differ by case alone do not count as neighbours; a word without a vector stays, as do numbers. The
    substitution of https://aclanthology.org/P18-1163, section 3.1.
    """

    aliases = "lexical_substitution, embedding_neighbours"

    def __init__(
        self,
        vectors: Vectors,
        *,
        probability: ChangeProbability = 0.1,
        count: Annotated[Size, Doc("Number of nearest neighbours to sample a synonym from.")] = 3,
        seed: ChangeSeed = 1,
    ) -> None:
        super().__init__(vectors, probability=probability, seed=seed)
        self.table, self.count = vectors(), count
        self._near: dict[str, list[str]] = {}  # of the words that were asked for

    def of_word(self, word: str, where: float, how: float) -> str:
        near = self.near(word)
        return cased_as(near[int(how * len(near))], word) if near else word

    def near(self, word: str) -> list[str]:
        """Return the words that may stand in the place of a word, the nearest first; none: it stays."""
        if word not in self._near:
            self._near[word] = self._found(word)
        return self._near[word]

    def _found(self, word: str) -> list[str]:
        known = next((one for one in (word, word.lower()) if one in self.table), None)
        if known is None or not known.isalpha():
            return []
        nearest = self.table.nearest(known, 10 * self.count)  # of ten, some are no words or the same one
        others = [one.word for one in nearest if one.word.isalpha() and one.word.lower() != known.lower()]
        return list(dict.fromkeys(others))[: self.count]
