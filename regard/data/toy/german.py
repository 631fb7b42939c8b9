"""Says a sentence in German: the place of the verb."""

from typing import Literal, NamedTuple

from regard.data.toy.inflection import merge, phrase
from regard.data.toy.sentence import (
    Clause,
    Event,
    Joined,
    Located,
    NounPhrase,
    Place,
    Presence,
    Quality,
    Sentence,
    Statement,
    Subject,
    person,
)

HAVE = {"1": "habe", "3": "hat", "p": "haben"}
BE = {"1": "bin", "3": "ist", "p": "sind"}
BECOME = {"1": "werde", "3": "wird", "p": "werden"}
CONJUNCTIONS = {"because": "weil", "that": "dass", "when": "wenn"}

Order = Literal["second", "first", "last"]  # of the finite verb


class Words(NamedTuple):
    """A clause not yet in order. `joined` is the finite verb with all that comes before it at the end."""

    subject: str
    finite: str
    middle: list[str]
    closing: str
    joined: str


def german(sentence: Sentence) -> str:
    """With a capital at the start and a mark at the end, words apart by single spaces."""
    if isinstance(sentence, Joined):
        words = both(sentence)
    elif isinstance(sentence, Statement):
        words = presence(sentence.clause) if isinstance(sentence.clause, Presence) else clause(sentence.clause)
    else:
        words = clause(sentence.clause, "first")
    text = " ".join(word for word in words if word)
    mark = "." if isinstance(sentence, Statement | Joined) else "?"
    return text[0].upper() + text[1:] + mark


def both(sentence: Joined) -> list[str]:
    other = [word for word in (CONJUNCTIONS[sentence.conjunction], *clause(sentence.other, "last")) if word]
    if sentence.turned:  # the other clause holds the first place, so the verb of the main clause follows at once
        return [*other[:-1], other[-1] + ",", *clause(sentence.main, "first")]
    main = [word for word in clause(sentence.main) if word]
    return [*main[:-1], main[-1] + ",", *other]


def presence(said: Presence) -> list[str]:
    verb = "sind" if said.what.plural else "ist"
    return [place(said.place), verb, phrase(said.what, "nom", said.negative)]


def clause(said: Clause, order: Order = "second") -> list[str]:
    """The words of a clause with the verb where it belongs."""
    words = event(said) if isinstance(said, Event) else being(said)
    if order == "last":
        return [words.subject, *words.middle, words.joined]
    front = said.time.german if isinstance(said, Event) and said.time and said.slot == "front" else ""
    if order == "first" or front:
        return [front, words.finite, words.subject, *words.middle, words.closing]
    return [words.subject, words.finite, *words.middle, words.closing]


def being(said: Quality | Located) -> Words:
    finite = BE[person(said.subject)]
    closing = said.adjective.german if isinstance(said, Quality) else place(said.place)
    return Words(subject(said.subject), finite, ["nicht" if said.negative else ""], closing, f"{closing} {finite}")


def event(said: Event) -> Words:
    finite, closing, joined = verb(said)
    return Words(subject(said.subject), finite, middle(said), closing, joined)


def verb(said: Event) -> tuple[str, str, str]:
    """The finite verb, what closes a main clause, and both in the order of a subordinate clause."""
    row, who = said.verb, person(said.subject)
    prefix = row.prefix.replace("_", " ")
    if said.tense == "past":
        finite = (HAVE if row.auxiliary == "haben" else BE)[who]
        return finite, row.participle, f"{row.participle} {finite}"
    if said.tense == "future":
        return BECOME[who], prefix + row.german, f"{prefix}{row.german} {BECOME[who]}"
    finite = {"1": row.first, "3": row.third_german, "p": row.german}[who]
    return finite, prefix.strip(), prefix + finite


def middle(said: Event) -> list[str]:
    """Between the verb and its closing: time, receiver, object, not, companion, place."""
    words = [said.time.german] if said.time and said.slot != "front" else []
    if said.receiver:
        words.append(phrase(said.receiver, "dat"))
    late, no = [], said.negative
    if said.object:
        none = no and not said.object.definite  # kein says no already
        case = said.verb.case or "dat"
        thing = phrase(said.object, case, none)
        if said.verb.preposition:
            late.append(merge(f"{said.verb.preposition} {thing}"))
        else:
            words.append(thing)
        no = no and not none
    if no:
        words.append("nicht")
    if said.companion:
        late.append("mit " + phrase(said.companion, "dat"))
    if said.place:
        late.append(place(said.place))
    return words + late


def subject(who: Subject) -> str:
    return phrase(who, "nom") if isinstance(who, NounPhrase) else who.german


def place(where: Place) -> str:
    return merge(f"{where.preposition.german} {phrase(where.where, 'dat')}")
