"""Which combinations of words are kept for the test part."""

import hashlib
from collections.abc import Iterator
from functools import cache

from regard.data.toy.sentence import Event, Joined, NounPhrase, Presence, Quality, Sentence

SHARE = 0.05
SALT = b"toy-51225"  # one that leaves every verb, and every adjective in each gender, three quarters of its partners

Pair = tuple[str, str]


@cache
def held(first: str, second: str) -> bool:
    """Whether these two words never meet in the train part; decided by the words alone, so the same everywhere."""
    digest = hashlib.blake2b(f"{first}\t{second}".encode(), digest_size=8, person=SALT).digest()
    return int.from_bytes(digest, "little") < SHARE * 2**64


def combinations(sentence: Sentence) -> Iterator[Pair]:
    """Every verb with its object and every adjective with its noun, in English."""
    clauses = [sentence.main, sentence.other] if isinstance(sentence, Joined) else [sentence.clause]
    for clause in clauses:
        phrases: list[object] = [clause.what] if isinstance(clause, Presence) else [clause.subject]
        if isinstance(clause, Event):
            phrases += [clause.object, clause.receiver, clause.companion]
            if clause.object:
                yield clause.verb.english, clause.object.noun.english
        if isinstance(clause, Quality) and isinstance(clause.subject, NounPhrase):
            yield clause.adjective.english, clause.subject.noun.english
        elif not isinstance(clause, Quality) and clause.place:
            phrases.append(clause.place.where)
        for phrase in phrases:
            if isinstance(phrase, NounPhrase) and phrase.adjective:
                yield phrase.adjective.english, phrase.noun.english


def in_test(sentence: Sentence) -> bool:
    """Whether the sentence holds a combination of the test part."""
    return any(held(*pair) for pair in combinations(sentence))
