"""Samples sentences: a dozen patterns, filled with words that make sense together."""

import random
from functools import cache

from regard.data.toy.lexicon import Noun, Verb, lexicon
from regard.data.toy.phrases import OBJECT, SUBJECT, Phrases, Weights, phrase, place, slot, subject
from regard.data.toy.sentence import (
    TENSES,
    Clause,
    Event,
    Joined,
    Located,
    NounPhrase,
    Place,
    Presence,
    Quality,
    Question,
    Sentence,
    Statement,
    Tense,
)

NEGATIVE, COMPANION, RECEIVER_MY = 0.15, 0.3, 0.3
OUTSIDE = frozenset({"outside", "room", "inside"})
BEASTS = frozenset({"pet", "animal"})


@cache
def grammar() -> "Grammar":
    """The one grammar."""
    return Grammar()


class Grammar:
    """Draws sentences; what it draws depends on the `random.Random` alone."""

    def __init__(self) -> None:
        self.phrases = Phrases()
        verbs = lexicon().verbs
        self.verbs = [verb for verb in verbs if "clause" not in verb.objects]
        self.attitudes = [verb for verb in verbs if "clause" in verb.objects]
        self.described = [noun for noun in lexicon().nouns if self.phrases.adjectives[noun]]
        self.portable = self.phrases.of(frozenset({"thing", "accessory"}))
        self.beasts = self.phrases.of(BEASTS)
        self.tops = self.phrases.spots(frozenset({"surface"}))
        self.habitats = self.phrases.spots(frozenset({"outside"}))
        self.by_tense = {tense: [verb for verb in self.verbs if key in verb.tenses] for key, tense in TENSES.items()}

    def sentence(self, draws: random.Random) -> Sentence:
        """One sentence of any pattern."""
        roll = draws.random()
        if roll < 0.5:
            return Statement(self.event(draws, draws.choice(self.verbs), front=True))
        if roll < 0.6:
            return Question(self.clause(draws, positive=True))
        if roll < 0.7:
            return Statement(self.quality(draws) if draws.random() < 0.75 else self.located(draws))
        if roll < 0.74:
            return Statement(self.presence(draws))
        return self.joined(draws)

    def joined(self, draws: random.Random) -> Joined:
        """A feeling or an opinion about something, or its reason."""
        roll = draws.random()
        if roll < 0.4:
            main = Event(subject(self.phrases, draws), draws.choice(self.attitudes), "state")
            return Joined(main, "that", self.clause(draws))
        if roll < 0.7:
            habit = self.event(draws, draws.choice(self.by_tense["habit"]), "habit", timed=False, positive=True)
            return Joined(self.feeling(draws), "when", habit, draws.random() < 0.5)
        if roll < 0.9:
            return Joined(self.feeling(draws), "because", self.clause(draws))
        tense = draws.choice(("progressive", "past"))
        main = self.event(draws, draws.choice(self.by_tense[tense]), tense, timed=False)
        return Joined(main, "because", self.feeling(draws, negative=0.0))

    def clause(self, draws: random.Random, positive: bool = False) -> Clause:
        """One that can stand after a conjunction or be a question: no time at its front."""
        roll = draws.random()
        if roll < 0.2:
            return self.quality(draws, positive)
        if roll < 0.25:
            return self.located(draws, positive)
        return self.event(draws, draws.choice(self.verbs), positive=positive)

    def feeling(self, draws: random.Random, negative: float = NEGATIVE) -> Quality:
        return Quality(
            subject(self.phrases, draws), draws.choice(self.phrases.feelings), negative=draws.random() < negative
        )

    def quality(self, draws: random.Random, positive: bool = False) -> Quality:
        """The old house is small; never twice the same adjective."""
        noun = draws.choice(self.described)
        thing = phrase(self.phrases, draws, noun, {"the": 4, "this": 1, "my": 1}, adjective=0)
        fitting = self.phrases.adjectives[noun]
        return Quality(thing, draws.choice(fitting), negative=not positive and draws.random() < NEGATIVE)

    def located(self, draws: random.Random, positive: bool = False) -> Located:
        """A thing on something, or an animal somewhere."""
        thing = draws.random() < 0.5
        noun = draws.choice(self.portable if thing else self.beasts)
        who = phrase(self.phrases, draws, noun, {"the": 3, "my": 1})
        where = place(self.phrases, draws, self.tops if thing else self.habitats)
        return Located(who, where, not positive and draws.random() < NEGATIVE)

    def presence(self, draws: random.Random) -> Presence:
        thing = draws.random() < 0.5
        where = place(self.phrases, draws, self.tops if thing else self.habitats)
        negative = draws.random() < NEGATIVE
        noun = draws.choice(self.portable if thing else self.beasts)
        weights: Weights = {"a": 1} if negative else {"a": 1, "number": 2}
        return Presence(where, phrase(self.phrases, draws, noun, weights), negative)

    def event(
        self,
        draws: random.Random,
        verb: Verb,
        tense: Tense | None = None,
        *,
        front: bool = False,
        timed: bool = True,
        positive: bool = False,
    ) -> Event:
        """Somebody does something; at some time where `timed`, which may stand in `front`."""
        tense = tense or TENSES[draws.choice(verb.tenses)]
        thing = self.object(draws, verb)
        times = self.phrases.times[tense] if timed and tense != "state" else []
        time = draws.choice(times) if times and (tense == "habit" or draws.random() < 0.5) else None
        where = slot(draws, time, front) if time else None
        negative = not positive and tense != "habit" and draws.random() < NEGATIVE and can_deny(verb, thing)
        if negative and where != "front" and thing and thing.definite:
            time = where = None  # the place of nicht would be open to taste
        receiver = self.receiver(draws) if "receiver" in verb.flags else None
        return Event(
            subject(self.phrases, draws, verb),
            verb,
            tense,
            thing,
            receiver,
            self.companion(draws, verb),
            self.place(draws, verb, thing),
            time,
            where or "end",
            negative,
        )

    def object(self, draws: random.Random, verb: Verb) -> NounPhrase | None:
        nouns = self.phrases.things[verb]
        if not nouns:
            return None
        weights = OBJECT
        if "goal" in verb.flags:
            weights = {"the": 1}
        elif "definite" in verb.flags:
            weights = {"the": 4, "this": 1, "my": 2}
            if "plain" in verb.flags:
                weights["none"] = 2
        elif "indefinite" in verb.flags:
            weights = {"a": 4, "number": 3}
        noun: Noun = draws.choice(nouns)
        return phrase(self.phrases, draws, noun, weights)

    def place(self, draws: random.Random, verb: Verb, thing: NounPhrase | None) -> Place | None:
        spots = self.phrases.places[verb]
        if spots and ("placed" in verb.flags or draws.random() < (0.2 if thing else 0.5)):
            return place(self.phrases, draws, spots)
        return None

    def companion(self, draws: random.Random, verb: Verb) -> NounPhrase | None:
        if "company" not in verb.flags or draws.random() > COMPANION:
            return None
        nouns = self.phrases.of(frozenset({"kin", "pet"} if verb.english == "play" else {"kin"}))
        return phrase(self.phrases, draws, draws.choice(nouns), {"the": 3, "my": 2}, adjective=0)

    def receiver(self, draws: random.Random) -> NounPhrase:
        nouns = self.phrases.of(frozenset({"person"}))
        return phrase(self.phrases, draws, draws.choice(nouns), {"the": 3, "my": 1}, adjective=0)


def can_deny(verb: Verb, thing: NounPhrase | None) -> bool:
    """Not three cats, and not on nobody: what no language says simply stays unsaid."""
    return thing is None or (thing.determiner != "number" and (thing.definite or not verb.preposition))


__all__ = ["SUBJECT", "Grammar", "grammar"]
