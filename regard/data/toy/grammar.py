"""Samples sentences: a dozen patterns, filled with words that make sense together."""

import random
from collections.abc import Sequence
from functools import cache, partial
from typing import TypeVar

from regard.data.toy.trees import (
    TENSES,
    Determiner,
    Lexeme,
    RuleTree,
    Slot,
    Tense,
    event,
    joined,
    lexicon,
    located,
    phrase,
    placed_at,
    presence,
    quality,
    question,
    statement,
)

_T = TypeVar("_T")
_Weights = dict[Determiner, int]
Spot = tuple[Lexeme, Lexeme]  # a preposition, and a noun with which it is a place

NEGATIVE, COMPANION = 0.15, 0.3  # how often
_NAMES = 0.6  # fraction of pronouns and names among persons as subjects
ADJECTIVE = 0.25  # probability that a noun has one
PLURAL = 0.25
SUBJECT: _Weights = {"the": 6, "a": 2, "number": 2, "this": 1, "my": 2}
_PLACE: _Weights = {"the": 5, "my": 1}
OBJECTS: dict[str, _Weights] = {  # by the first flag that a verb has, the last one for every verb
    "goal": {"the": 1},
    "plain": {"the": 4, "this": 1, "my": 2, "none": 2},
    "definite": {"the": 4, "this": 1, "my": 2},
    "indefinite": {"a": 4, "number": 3},
    "one": {"the": 4, "a": 4, "this": 1, "my": 2},
    "": {"the": 6, "a": 5, "number": 3, "this": 2, "my": 2, "none": 2},
}
PUBLIC = frozenset({"water", "outside", "goal", "shore", "cover"})  # nobody's own
_SLOTS: tuple[Slot, ...] = ("front", "mid", "end")


@cache
def grammar() -> "Grammar":
    """Return the one grammar."""
    return Grammar()


class Grammar:
    """Samples sentences, which depend on the `random.Random` alone."""

    def __init__(self) -> None:
        words = lexicon()
        self.persons = [word for word in words.subjects if word.person != "w"]
        self.others = [word for word in self.persons if word.person != "1"]
        self.weather = [word for word in words.subjects if word.person == "w"]
        self.adjectives = {
            noun: [adjective for adjective in words.adjectives if adjective.nouns & noun.classes]
            for noun in words.nouns
        }
        self.feelings = [adjective for adjective in words.adjectives if "feeling" in adjective.nouns]
        self.agents = {verb: nouns_of(*verb.subjects) for verb in words.verbs}
        self.things = {verb: nouns_of(*verb.objects) for verb in words.verbs}
        self.places = {verb: spots(*verb.places) for verb in words.verbs}
        self.times = {tense: [time for time in words.times if tag in time.tenses] for tag, tense in TENSES.items()}
        self.verbs = [verb for verb in words.verbs if "clause" not in verb.objects]
        self.attitudes = [verb for verb in words.verbs if "clause" in verb.objects]
        self.habits = [verb for verb in self.verbs if "H" in verb.tenses]
        self.coming = [verb for verb in self.verbs if "F" in verb.tenses and "person" in verb.subjects]
        self.described = [noun for noun in words.nouns if self.adjectives[noun]]
        self.portable, self.tops = nouns_of("thing", "accessory"), spots("surface", "seat")
        self.beasts, self.habitats = nouns_of("pet", "animal"), spots("outside", "shore")

    def sentence(self, rng: random.Random) -> RuleTree:
        """Sample a sentence of any pattern."""
        roll = rng.random()
        if roll < 0.5:
            return statement(self.event(rng, rng.choice(self.verbs), front=True))
        if roll < 0.6:
            return question(self.question(rng))
        if roll < 0.7:
            return statement(self.quality(rng) if rng.random() < 0.75 else self.located(rng))
        if roll < 0.74:
            return statement(self.presence(rng))
        both = self.joined(rng)
        while both.main.subject == both.other.subject:  # nobody says that Tom hopes that Tom is well
            both = self.joined(rng)
        return both

    def joined(self, rng: random.Random) -> RuleTree:
        """Sample a feeling or an opinion about something, or its reason."""
        roll = rng.random()
        if roll < 0.4:
            main = event(self.subject(rng), rng.choice(self.attitudes), "state")
            return joined(main, "that", self.clause(rng))
        if roll < 0.7:
            habit = self.event(rng, rng.choice(self.habits), "habit", timed=False, positive=True)
            return joined(self.feeling(rng), "when", habit, rng.random() < 0.5)
        if roll < 0.9:
            return joined(self.feeling(rng), "because", self.clause(rng))
        main = self.event(rng, rng.choice(self.coming), "future", timed=False)
        return joined(main, "because", self.feeling(rng, negative=0.0))

    def clause(self, rng: random.Random, positive: bool = False) -> RuleTree:
        """Sample a clause that can follow a conjunction or be a question: no time at its front."""
        roll = rng.random()
        if roll < 0.2:
            return self.quality(rng, positive)
        if roll < 0.25:
            return self.located(rng, positive)
        return self.event(rng, rng.choice(self.verbs), positive=positive)

    def question(self, rng: random.Random) -> RuleTree:
        """Sample the clause of a question. German starts it with the verb: rare verb forms are avoided."""
        clause = self.clause(rng, positive=True)
        while clause.rule == "event" and clause.tense in ("progressive", "habit"):
            clause = self.clause(rng, positive=True)
        return clause

    def feeling(self, rng: random.Random, negative: float = NEGATIVE) -> RuleTree:
        return quality(self.subject(rng), rng.choice(self.feelings), rng.random() < negative)

    def quality(self, rng: random.Random, positive: bool = False) -> RuleTree:
        """The old house is small; never twice the same adjective."""
        noun = rng.choice(self.described)
        thing = self.phrase(rng, noun, {"the": 4, "this": 1, "my": 1}, adjective=0)
        return quality(thing, rng.choice(self.adjectives[noun]), not positive and rng.random() < NEGATIVE)

    def located(self, rng: random.Random, positive: bool = False) -> RuleTree:
        """A thing on something, or an animal somewhere."""
        thing = rng.random() < 0.5
        noun = rng.choice(self.portable if thing else self.beasts)
        who = self.phrase(rng, noun, {"the": 3, "my": 1})
        where = self.place(rng, self.tops if thing else self.habitats)
        return located(who, where, not positive and rng.random() < NEGATIVE)

    def presence(self, rng: random.Random) -> RuleTree:
        thing = rng.random() < 0.5
        where = self.place(rng, self.tops if thing else self.habitats)
        negative = rng.random() < NEGATIVE
        noun = rng.choice(self.portable if thing else self.beasts)
        return presence(where, self.phrase(rng, noun, {"a": 1} if negative else {"a": 1, "number": 2}), negative)

    def event(
        self,
        rng: random.Random,
        verb: Lexeme,
        tense: Tense | None = None,
        *,
        front: bool = False,
        timed: bool = True,
        positive: bool = False,
    ) -> RuleTree:
        """Somebody does something; at some time where `timed`, which may stand in `front`."""
        tense = tense or TENSES[rng.choice(verb.tenses)]
        thing = self.object(rng, verb, tense)
        times = self.times[tense] if timed and tense != "state" else []
        time = rng.choice(times) if times and (tense == "habit" or rng.random() < 0.5) else None
        slot = open_slot(rng, time, front) if time else None
        negative = not positive and tense != "habit" and rng.random() < NEGATIVE and can_deny(verb, thing)
        if negative and slot != "front" and thing and thing.definite:
            time = slot = None  # the place of nicht would be open to taste
        known = partial(self.phrase, rng, adjective=0)
        receiver = known(rng.choice(nouns_of("person")), {"the": 3, "my": 1}) if "receiver" in verb.flags else None
        who, companion, where = self.subject(rng, verb, tense), None, None
        if "company" in verb.flags and rng.random() <= COMPANION:
            mates = nouns_of("kin", "pet") if verb.english == "play" else nouns_of("kin")
            companion = known(rng.choice(mates), {"the": 3, "my": 2})
        if self.places[verb] and ("placed" in verb.flags or rng.random() < (0.2 if thing else 0.5)):
            where = self.place(rng, self.places[verb])
        return event(
            who,
            verb,
            tense,
            thing,
            receiver=receiver,
            companion=companion,
            place=where,
            time=time,
            slot=slot or "end",
            negative=negative,
        )

    def object(self, rng: random.Random, verb: Lexeme, tense: Tense) -> RuleTree | None:
        """Sample the object of a verb."""
        nouns = self.things[verb]
        if not nouns:
            return None
        weights = next(some for flag, some in OBJECTS.items() if flag in verb.flags or not flag)
        if tense == "habit":  # nobody always reads three books
            weights = {determiner: weight for determiner, weight in weights.items() if determiner != "number"}
        return self.phrase(rng, rng.choice(nouns), weights, one=bool(verb.flags & {"goal", "one"}))

    def subject(self, rng: random.Random, verb: Lexeme | None = None, tense: Tense = "state") -> Lexeme | RuleTree:
        """Sample a subject: a pronoun, a name, or a noun that fits the verb; without a verb, a person.

        In German each verb has its own form for "I" in the present, and most would be too rare to learn in a demo.
        So "I" goes with the past, the future or a state, which need the forms of a few verbs alone.
        """
        if verb and "weather" in verb.subjects:
            return self.weather[0]
        if verb is None or ("person" in verb.subjects and rng.random() < _NAMES):
            return rng.choice(self.others if tense in ("progressive", "habit") else self.persons)
        return self.phrase(rng, rng.choice(self.agents[verb]), SUBJECT)

    def place(self, rng: random.Random, spots: Sequence[Spot]) -> RuleTree:
        preposition, noun = rng.choice(spots)
        return placed_at(preposition, self.phrase(rng, noun, _PLACE, ADJECTIVE / 2, one=True))

    def phrase(
        self, rng: random.Random, noun: Lexeme, weights: _Weights, adjective: float = ADJECTIVE, one: bool = False
    ) -> RuleTree:
        """A noun with a determiner that it can have; `one` makes it singular."""
        determiner = fitting_determiner(noun, weighted(rng, weights))
        plural = determiner in ("number", "none") or (determiner in ("the", "this", "my") and rng.random() < PLURAL)
        number = rng.choice(lexicon().numbers) if determiner == "number" else None
        fitting = self.adjectives[noun]
        described = rng.choice(fitting) if fitting and rng.random() < adjective else None
        return phrase(noun, determiner, described, plural and bool(noun.plural) and not one, number)


@cache
def nouns_of(*classes: str) -> list[Lexeme]:
    """Return the nouns of any of these classes."""
    return [noun for noun in lexicon().nouns if noun.classes & {*classes}]


def spots(*kinds: str) -> list[Spot]:
    """Return the places of some kinds; one that belongs to several kinds is listed once."""
    words = lexicon()
    found = {
        (preposition.english, noun.english, noun.german): (preposition, noun)
        for noun in words.nouns
        for preposition in words.prepositions
        if preposition.kind in noun.classes & {*kinds}
    }
    return list(found.values())


def weighted(rng: random.Random, weights: dict[_T, int]) -> _T:
    return rng.choices(list(weights), list(weights.values()))[0]


def fitting_determiner(noun: Lexeme, sampled: Determiner) -> Determiner:
    """Return the sampled determiner, or one that fits the noun: no "two milks", no "my river"."""
    classes, person = noun.classes, "person" in noun.classes
    if "mass" in classes:
        return sampled if sampled == "none" else "the"
    if "single" in classes:
        return sampled if sampled == "my" else "the"
    if sampled == "my" and (classes & PUBLIC or (person and not classes & {"kin", "worker"})):
        return "the"
    if "relative" in classes and sampled in ("a", "this"):
        return "my"
    if person and sampled == "none":
        return "the"
    return sampled


def open_slot(rng: random.Random, time: Lexeme, front: bool) -> Slot | None:
    """Sample the place of a time in an English sentence; None where only the front would fit and is taken."""
    free: list[Slot] = [name for name in _SLOTS if name in time.slots and (front or name != "front")]
    return rng.choice(free) if free else None


def can_deny(verb: Lexeme, thing: RuleTree | None) -> bool:
    """Return whether all languages negate it alike: not three cats, and not on nobody."""
    return thing is None or (thing.determiner != "number" and (thing.definite or not verb.preposition))
