"""Samples sentences: a dozen patterns, filled with words that make sense together."""

import random
from functools import cache

from regard.data.toy.events import NEGATIVE, Events
from regard.data.toy.lexicon import lexicon
from regard.data.toy.phrases import Weights, phrase, place, subject
from regard.data.toy.sentence import (
    Clause,
    Event,
    Joined,
    Located,
    Presence,
    Quality,
    Question,
    Sentence,
    Statement,
)

BEASTS = frozenset({"pet", "animal"})


@cache
def grammar() -> "Grammar":
    """The one grammar."""
    return Grammar()


class Grammar(Events):
    """Draws sentences; what it draws depends on the `random.Random` alone."""

    def __init__(self) -> None:
        super().__init__()
        verbs = lexicon().verbs
        self.verbs = [verb for verb in verbs if "clause" not in verb.objects]
        self.attitudes = [verb for verb in verbs if "clause" in verb.objects]
        self.described = [noun for noun in lexicon().nouns if self.phrases.adjectives[noun]]
        self.portable = self.phrases.of(frozenset({"thing", "accessory"}))
        self.beasts = self.phrases.of(BEASTS)
        self.tops = self.phrases.spots(frozenset({"surface", "seat"}))
        self.habitats = self.phrases.spots(frozenset({"outside", "shore"}))
        self.habits = [verb for verb in self.verbs if "H" in verb.tenses]
        self.coming = [verb for verb in self.verbs if "F" in verb.tenses and "person" in verb.subjects]

    def sentence(self, draws: random.Random) -> Sentence:
        """One sentence of any pattern."""
        roll = draws.random()
        if roll < 0.5:
            return Statement(self.event(draws, draws.choice(self.verbs), front=True))
        if roll < 0.6:
            return Question(self.asked(draws))
        if roll < 0.7:
            return Statement(self.quality(draws) if draws.random() < 0.75 else self.located(draws))
        if roll < 0.74:
            return Statement(self.presence(draws))
        joined = self.joined(draws)
        while joined.main.subject == joined.other.subject:  # nobody says that Tom hopes that Tom is well
            joined = self.joined(draws)
        return joined

    def joined(self, draws: random.Random) -> Joined:
        """A feeling or an opinion about something, or its reason."""
        roll = draws.random()
        if roll < 0.4:
            main = Event(subject(self.phrases, draws), draws.choice(self.attitudes), "state")
            return Joined(main, "that", self.clause(draws))
        if roll < 0.7:
            habit = self.event(draws, draws.choice(self.habits), "habit", timed=False, positive=True)
            return Joined(self.feeling(draws), "when", habit, draws.random() < 0.5)
        if roll < 0.9:
            return Joined(self.feeling(draws), "because", self.clause(draws))
        main = self.event(draws, draws.choice(self.coming), "future", timed=False)
        return Joined(main, "because", self.feeling(draws, negative=0.0))

    def clause(self, draws: random.Random, positive: bool = False) -> Clause:
        """One that can stand after a conjunction or be a question: no time at its front."""
        roll = draws.random()
        if roll < 0.2:
            return self.quality(draws, positive)
        if roll < 0.25:
            return self.located(draws, positive)
        return self.event(draws, draws.choice(self.verbs), positive=positive)

    def asked(self, draws: random.Random) -> Clause:
        """What a question is about. German begins it with the verb: few begin with a rare one."""
        clause = self.clause(draws, positive=True)
        while isinstance(clause, Event) and clause.tense in ("progressive", "habit"):
            clause = self.clause(draws, positive=True)
        return clause

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
