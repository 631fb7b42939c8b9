"""Says a sentence in English."""

from regard.data.toy.sentence import (
    Clause,
    Event,
    Joined,
    NounPhrase,
    Place,
    Presence,
    Quality,
    Sentence,
    Statement,
    Subject,
    person,
)

BE = {"1": "am", "3": "is", "p": "are"}


def english(sentence: Sentence) -> str:
    """With a capital at the start and a mark at the end, words apart by single spaces."""
    if isinstance(sentence, Joined):
        words = joined(sentence)
    elif isinstance(sentence, Statement):
        words = presence(sentence.clause) if isinstance(sentence.clause, Presence) else clause(sentence.clause)
    else:
        words = clause(sentence.clause, question=True)
    text = " ".join(word for word in words if word)
    mark = "." if isinstance(sentence, Statement | Joined) else "?"
    return text[0].upper() + text[1:] + mark


def joined(sentence: Joined) -> list[str]:
    main = clause(sentence.main)
    other = [word for word in (sentence.conjunction, *clause(sentence.other)) if word]
    return [*other[:-1], other[-1] + ",", *main] if sentence.turned else main + other


def presence(said: Presence) -> list[str]:
    verb = "are" if said.what.plural else "is"
    if said.negative:  # "no", and no article
        return [place(said.place), "there", verb, "no", phrase(said.what, bare=True)]
    return [place(said.place), "there", verb, phrase(said.what)]


def clause(said: Clause, question: bool = False) -> list[str]:
    """The words of a clause; a question has its auxiliary before the subject."""
    who, no = subject(said.subject), "not" if said.negative else ""
    if isinstance(said, Event):
        return event(said, who, no, question)
    rest = said.adjective.english if isinstance(said, Quality) else place(said.place)
    be = BE[person(said.subject)]
    return [be, who, no, rest] if question else [who, be, no, rest]


def event(said: Event, who: str, no: str, question: bool) -> list[str]:
    time = said.time.english if said.time else ""
    slot = {said.slot: time}
    helper, form = verb(said, question)
    mid, front = slot.get("mid", ""), slot.get("front", "")
    start = [helper, who, no, mid] if question else [who, helper, no, mid]
    things = [phrase(thing) for thing in (said.receiver, said.object) if thing]
    if said.verb.preposition == "zu":  # the goal of a way
        things.insert(0, "to")
    if said.companion:
        things += ["with", phrase(said.companion)]
    if said.place:
        things.append(place(said.place))
    return [front, *start, form, *things, slot.get("end", "")]


def verb(said: Event, question: bool) -> tuple[str, str]:
    """Auxiliary, or nothing, and the form of the verb."""
    who = person(said.subject)
    if said.tense == "future":
        return "will", said.verb.english
    if said.tense == "progressive":
        return BE[who], said.verb.ing
    if question or said.negative:
        present = "does" if who == "3" else "do"
        return "did" if said.tense == "past" else present, said.verb.english
    if said.tense == "past":
        return "", said.verb.past
    return "", said.verb.third if who == "3" else said.verb.english


def subject(who: Subject) -> str:
    return phrase(who) if isinstance(who, NounPhrase) else who.english


def place(where: Place) -> str:
    return f"{where.preposition.english} {phrase(where.where)}"


def phrase(thing: NounPhrase, bare: bool = False) -> str:
    """Article or number, adjective, noun."""
    words = [thing.noun.plural if thing.plural else thing.noun.english]
    if thing.adjective:
        words.insert(0, thing.adjective.english)
    if bare or thing.determiner == "none":
        return " ".join(words)
    if thing.determiner == "number":
        first = thing.number.english if thing.number else ""
    elif thing.determiner == "a":
        first = "an" if words[0][0] in "aeiou" else "a"
    elif thing.determiner == "this":
        first = "these" if thing.plural else "this"
    else:
        first = thing.determiner
    return " ".join([first, *words])
