"""Slips of the pen: letters that are exchanged, left out or doubled."""

from regard.text.perturbations.perturbation import WordPerturbation


class TypoPerturbation(WordPerturbation):
    """One slip in each chosen word: two letters exchanged, one left out or one doubled, a third of the slips each.

    The first letter stays, and a word of one letter, too. https://arxiv.org/abs/1711.02173, section 3.2.
    """

    aliases = "misspelling, spelling"

    def of_word(self, word: str, where: float, how: float) -> str:
        if len(word) < 2:
            return word
        slip = int(3 * how) if len(word) > 2 else 1 + int(2 * how)  # two letters cannot change places
        last = len(word) - 1 if slip == 0 else len(word)
        place = 1 + int(where * (last - 1))
        before, letter, behind = word[:place], word[place], word[place + 1 :]
        return before + (behind[:1] + letter + behind[1:], behind, 2 * letter + behind)[slip]
