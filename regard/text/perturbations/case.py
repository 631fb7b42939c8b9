"""Words in capitals, in small letters, or with the case of each letter turned round."""

from typing import Annotated, Literal

from regard.config import Doc
from regard.text.perturbations.perturbation import ChangeProbability, ChangeSeed, Vectors, WordPerturbation


class CasePerturbation(WordPerturbation):
    """dog → DOG: each chosen word in capitals, or in another case."""

    aliases = "capitals, uppercase"

    def __init__(
        self,
        vectors: Vectors,
        *,
        probability: ChangeProbability = 0.1,
        to: Annotated[Literal["upper", "lower", "title", "swapped"], Doc("Case to convert words to.")] = "upper",
        seed: ChangeSeed = 1,
    ) -> None:
        super().__init__(vectors, probability=probability, seed=seed)
        self.change = {"upper": str.upper, "lower": str.lower, "title": str.capitalize, "swapped": str.swapcase}[to]

    def of_word(self, word: str, where: float, how: float) -> str:
        return self.change(word)
