"""Translations in which the words of the source are found again, by a lexicon."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated

from regard.config import Doc
from regard.config.bounds import Ratio
from regard.evaluation.tokenization import words
from regard.objectives.posterior_features.feature import PosteriorFeature, StartWeight
from regard.statistical.lexical_table import Lexicon


class WordPairsFeature(PosteriorFeature):
    """Share of the source words of which a translation stands in the target, among those that a lexicon has.

    1 where it has none of them. Case makes no difference. Raises DataError for a lexicon that cannot be read.
    """

    aliases = "bilingual_dictionary, lexicon"

    def __init__(
        self,
        *,
        lexicon: Annotated[Path, Doc("Lexicon written by regard align --lexicon.")],
        min_probability: Annotated[Ratio, Doc("Minimum probability of a word pair.")] = 0.1,
        weight: StartWeight = 10.0,
    ) -> None:
        super().__init__(weight)
        self.lexicon, self.min_probability = lexicon, min_probability

    @cached_property
    def translations(self) -> dict[str, set[str]]:
        """Source word → its translations, in lower case and without signs beside them."""
        found = dict[str, set[str]]()
        for source, target, probability in Lexicon.read(self.lexicon):
            pair = [words(one.lower()) for one in (source, target)]
            if probability >= self.min_probability and all(pair) and all(one[0].isalnum() for one in pair):
                found.setdefault(pair[0][0], set()).add(pair[1][0])
        return found

    def __call__(self, source: str, targets: Sequence[str]) -> list[float]:
        wanted = [self.translations[word] for word in words(source.lower()) if word in self.translations]
        written = [set(words(target.lower())) for target in targets]
        return [sum(not one.isdisjoint(some) for one in wanted) / len(wanted) if wanted else 1.0 for some in written]
