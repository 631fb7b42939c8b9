"""Targets in which a word stands for all translations of an ambiguous source word (Zhao et al. 2019)."""

from collections.abc import Container, Sequence

from regard.evaluation.alignments import Link
from regard.statistical.bitext import Words
from regard.statistical.translations import linked

SUFFIX = "4s"  # of a pseudo-token: house → house4s


def pseudo_target(source: Words, target: Words, links: Sequence[Link], ambiguous: Container[str]) -> list[str]:
    """Return a target in which each translation of an `ambiguous` source word is its pseudo-token.

    So the entropy of that word is 0, as far as it is linked (https://doi.org/10.1609/aaai.v33i01.3301451). Adjacent
    target words of one source word become one pseudo-token, behind the space before the first of them, where words come
    with one; of several source words the first one has the target word.
    """
    owners: list[int | None] = [None] * len(target)
    for number, places in enumerate(linked(links, len(source))):
        for place in places:
            if source[number] in ambiguous and owners[place] is None:
                owners[place] = number
    words, before = list[str](), None
    for word, owner in zip(target, owners, strict=True):
        if owner is None:
            words.append(word)
        elif owner != before:
            words.append(word[: len(word) - len(word.lstrip())] + source[owner] + SUFFIX)
        before = owner
    return words
