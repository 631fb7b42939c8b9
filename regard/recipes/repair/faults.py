"""Faults that repairs share: words of texts with the words that were wrong for them, and words that stand in for them.

A stand-in is another word of the language, such as "cat" for "dog", by which the model's answer comes nearer to the
right one. Answers to texts with stand-ins are what other texts with the word are to be answered with.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import product

from regard.explain.translation_faults import EVERYWHERE

RepairPair = tuple[str, str]  # text, its right translation
FaultLinks = set[tuple[str, str]]  # a word of a text, and the word that was wrong in its old answer
AnswerTexts = Callable[[Sequence[str]], Sequence[str]]
ScoreTexts = Callable[[Sequence[str], Sequence[str]], Sequence[float]]  # texts and answers → log-probabilities

WORD = re.compile(r"\w+")
_SIGN = re.compile(r"\w+|[^\w\s]")
_LINKED = 0.5  # fraction of the old answers to texts with a word that have the wrong word
_TRIED, _LEAST_DICE = 4, 0.1  # words that are tried for a word, and their association with a right word
_NEARER = 0.5  # fraction of the texts with a word whose answers must come nearer


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text in lower case."""
    return frozenset(WORD.findall(text.lower()))


class OldAnswers:
    """Counts of words in texts and in their old answers."""

    def __init__(self, pairs: Sequence[RepairPair]) -> None:
        self.read, self.written, self.both = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
        for source, answer in pairs:
            one, other = word_set(source), word_set(answer)
            self.read.update(one)
            self.written.update(other)
            self.both.update(product(one, other))

    def is_rare(self, word: str) -> bool:
        """Return whether a word of texts is none of the commonest, as "the"."""
        return self.read[word] <= EVERYWHERE * self.read.total()

    def association(self, read: str, written: str) -> float:
        """Return the Dice coefficient of a word of texts and a word of answers."""
        return 2 * self.both[read, written] / max(1, self.read[read] + self.written[written])


def wrong_links(repairs: Sequence[RepairPair], given: Sequence[str], counts: OldAnswers) -> FaultLinks:
    """Return the words of repaired texts with the wrong words of their old answers that usually come with them.

    `given` are the old answers to the repairs. A wrong word belongs to a word of the text if half of the old answers to
    texts with the latter have it, or if no other text has the latter; never to one of the commonest words.
    """
    found = FaultLinks()
    for (source, right), answer in zip(repairs, given, strict=True):
        found |= {*product(word_set(source), word_set(answer) - word_set(right))}
    return {
        (word, wrong) for word, wrong in found
        if counts.is_rare(word) and counts.both[word, wrong] >= _LINKED * counts.read[word]
    }  # fmt: skip


def is_related(pair: RepairPair, links: FaultLinks) -> bool:
    """Return whether a text has a word of a repair, and its old answer the word that was wrong for it."""
    return not links.isdisjoint(product(*map(word_set, pair)))


def stand_ins(
    repairs: Sequence[RepairPair],
    given: Sequence[str],
    links: FaultLinks,
    counts: OldAnswers,
    answer: AnswerTexts,
    score: ScoreTexts,
) -> tuple[dict[str, str], set[str]]:
    """Return for words with a fault another word that the model translates as they should be, and all words with one.

    Tried are the words that the right words of the repairs come with in old answers, for the word first that is most
    associated with a wrong one. A stand-in is taken if with it the answers to half of the repairs come nearer to the
    right ones, the one with which these have the greatest probability. A word has no fault if the answers to all its
    repairs are right by the stand-ins of others, as for "in" where "in the kitchen" became "im Büro".
    """
    found, faulty, now = dict[str, str](), set[str](), [*given]
    near = {word: max(counts.association(*one) for one in links if one[0] == word) for word, _ in links}
    for word in sorted(near, key=lambda one: (-near[one], one)):
        own = {one for one in links if one[0] == word}
        places = [
            place for place, (source, right) in enumerate(repairs)
            if now[place] != right and is_related((source, given[place]), own)
        ]  # fmt: skip
        if not places:
            continue
        faulty.add(word)
        right = [repairs[place][1] for place in places]
        missing = {
            one for place, text in zip(places, right, strict=True) for one in word_set(text) - word_set(now[place])
        }
        best = -math.inf
        for other in _candidates(word, missing, counts):
            read = [replaced(repairs[place][0], {**found, word: other}) for place in places]
            new = answer(read)
            nearer = sum(likeness(one, text) > likeness(now[place], text)
                         for place, one, text in zip(places, new, right, strict=True))  # fmt: skip
            if nearer >= _NEARER * len(places) and (total := sum(score(read, right))) > best:
                chosen, best = (other, new), total
        if best > -math.inf:
            found[word] = chosen[0]
            for place, one in zip(places, chosen[1], strict=True):
                now[place] = one
    return found, faulty


def _candidates(word: str, missing: set[str], counts: OldAnswers) -> list[str]:
    """Return the rare words of texts that are most associated with a missing word of answers."""
    near = Counter[str]()
    for read, written in counts.both:
        if written in missing and read != word and counts.is_rare(read):
            near[read] = max(near[read], round(1_000 * counts.association(read, written)))
    return [one for one, value in near.most_common(_TRIED) if value >= 1_000 * _LEAST_DICE]


def replaced(text: str, others: Mapping[str, str]) -> str:
    """Return a text with words replaced; a capital stays one."""

    def other(found: re.Match[str]) -> str:
        new = others.get(found[0].lower(), found[0])
        return new[:1].upper() + new[1:] if found[0][:1].isupper() else new

    return WORD.sub(other, text)


def likeness(one: str, other: str) -> float:
    """Return the Jaccard index of the words of two texts, each as often as it occurs."""
    first, second = (Counter(WORD.findall(text)) for text in (one, other))
    return (first & second).total() / max(1, (first | second).total())


def has_same_fault(answer: str, right: str, old: str, corrected: str) -> bool:
    """Return whether an answer differs from the right one as `old` does from `corrected`, or not at all."""
    first, second, third, fourth = (Counter(_SIGN.findall(text)) for text in (answer, right, old, corrected))
    return answer == right or (first - second, second - first) == (third - fourth, fourth - third)
