"""Texts in the wrong language: one that is in the target language already."""

from collections.abc import Iterator, Sequence
from functools import partial
from random import Random

from regard.reports.behaviour.evidence import garbled, same_words, similarity
from regard.reports.behaviour.suite import Case, Suite, behaviour_texts, languages_with_texts

_LEAST = 0.5  # similarity of a text in the target language and its answer


class WrongLanguageSuite(Suite):
    """Sentences in the target language. They stay much as they are; an answer that shares little is made up.

    A translator that copies the same sentence of the source language, too, has recognised nothing.
    """

    about = "a text in the target language stays as it is"
    reads = False

    def cases(self, draw: Random) -> Iterator[Case]:
        sentences = behaviour_texts(self.pair.target).sentences
        sources = self.texts.sentences if self.pair.source in languages_with_texts() else None
        for place in draw.sample(range(len(sentences)), len(sentences)):
            texts = [some[place][0] for some in (sentences, sources) if some]
            yield Case((*texts,), partial(_fault, texts))


def _fault(texts: Sequence[str], answers: Sequence[str]) -> str:
    text, *sources = texts
    answer, *translations = answers
    if any(text != one and same_words(one, found) for one, found in zip(sources, translations, strict=True)):
        return "copied, as the same sentence in the source language is"
    if found := garbled(answer):
        return found
    share = similarity(text, answer)
    return f"only {share:.0%} of a text in the target language is left" if share < _LEAST else ""
