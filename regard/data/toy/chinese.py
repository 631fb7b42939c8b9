"""Says a sentence in Chinese: measure words, 把, 了, 的, and what English puts last comes first."""

from regard.data.toy.sentence import (
    Clause,
    Event,
    Joined,
    Located,
    NounPhrase,
    Place,
    Presence,
    Sentence,
    Statement,
    Subject,
)


def chinese(sentence: Sentence) -> str:
    """No spaces, full-width marks."""
    if isinstance(sentence, Statement):
        said = sentence.clause
        return (presence(said) if isinstance(said, Presence) else clause(said)) + "。"
    if isinstance(sentence, Joined):
        return joined(sentence) + "。"
    return clause(sentence.clause, question=True) + "吗？"


def joined(sentence: Joined) -> str:
    """Reason and circumstance go before what they explain, whatever the order in English."""
    main, other = clause(sentence.main), clause(sentence.other)
    if sentence.conjunction == "because":
        return f"因为{other}，所以{main}"
    return f"{other}的时候，{main}" if sentence.conjunction == "when" else main + other


def presence(said: Presence) -> str:
    where = spot(said.place)
    return where + ("没有" + bare(said.what) if said.negative else "有" + phrase(said.what))


def clause(said: Clause, question: bool = False) -> str:
    who = subject(said.subject)
    if isinstance(said, Event):
        return event(said, who)
    if isinstance(said, Located):
        return who + ("不在" if said.negative else "在") + spot(said.place)
    word = said.adjective.predicate
    if said.negative:
        return f"{who}不{word}"
    return who + word if question or word[0] == "是" else f"{who}很{word}"  # a question measures nothing, so no 很


def event(said: Event, who: str) -> str:
    """Time, subject, no, place, companion, verb and object."""
    time = said.time.chinese if said.time else ""
    first = time + who if said.slot == "front" and said.tense != "habit" else who + time  # habits follow the subject
    text = first + helper(said)
    if said.place:
        text += "在" + spot(said.place)
    if said.companion:
        text += "跟" + phrase(said.companion)
    return text + action(said)


def helper(said: Event) -> str:
    """What says tense and no before the verb."""
    no = said.negative
    if said.tense == "future":
        return "不会" if no else "会"
    if said.tense == "past" or (said.tense == "state" and said.verb.chinese == "有"):
        return "没" if no else ""
    if said.tense == "progressive":
        return ("没" if no else "") + ("" if said.place or said.verb.ongoing else "在")
    return "不" if no else ""


def action(said: Event) -> str:
    """The verb with its object; 把 brings a known object before a verb that changes it."""
    row, done = said.verb, "了" if said.tense == "past" and not said.negative else ""
    verb = row.ongoing if row.ongoing and said.tense == "progressive" and not said.negative else row.chinese
    if said.receiver:
        return giving(said, verb, done)
    if not said.object:
        return verb + done
    if row.result and said.object.definite and said.tense in ("past", "future"):
        return f"把{phrase(said.object)}{row.result}{done}"
    thing = target(said)
    if "…" in verb:
        return verb.replace("…", thing) + done
    return verb + done + thing


def giving(said: Event, verb: str, done: str) -> str:
    assert said.receiver
    assert said.object
    before, _, after = verb.partition("…")
    given = before + phrase(said.receiver) + after + done if after else verb + done + phrase(said.receiver)
    if said.object.definite:
        return f"把{phrase(said.object)}{given}"
    return given + target(said)


def target(said: Event) -> str:
    """The object behind its verb."""
    thing = said.object
    assert thing
    if (said.negative or (said.time and said.time.english == "never")) and not thing.definite:
        return bare(thing)  # of what is not there, none is counted
    goal = "goal" in said.verb.flags
    return phrase(thing, pointed=not (said.verb.result or goal))


def subject(who: Subject) -> str:
    return phrase(who) if isinstance(who, NounPhrase) else who.chinese


def spot(where: Place) -> str:
    return phrase(where.where) + where.preposition.chinese


def bare(thing: NounPhrase) -> str:
    return (thing.adjective.attribute if thing.adjective else "") + thing.noun.chinese


def phrase(thing: NounPhrase, pointed: bool = False) -> str:
    """With its measure word. What is known goes without, except where it is `pointed` at as the object of a verb."""
    noun, measure = bare(thing), thing.noun.measure
    if thing.determiner == "the":
        return known(thing, pointed)
    some = "些" if thing.plural else measure
    number = thing.number.chinese if thing.number else ""
    article = {"my": "我的", "number": number + measure, "a": "一" + measure, "this": "这" + some}
    return article.get(thing.determiner, "") + noun


def known(thing: NounPhrase, pointed: bool) -> str:
    noun, measure = bare(thing), thing.noun.measure
    if thing.plural:
        return noun + "们" if "person" in thing.noun.classes and not pointed else "那些" + noun
    return "那" + measure + noun if pointed and measure else noun
