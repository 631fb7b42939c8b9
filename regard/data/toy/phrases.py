"""Samples the parts of a clause: who, what, where and when, of words that make sense together."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypeVar

from regard.data.toy.lexicon import Adjective, Noun, Preposition, Time, Verb, lexicon
from regard.data.toy.sentence import TENSES, Determiner, NounPhrase, Place, Subject, Tense

T = TypeVar("T")

NAMES = 0.6  # of persons as subjects, the share of pronouns and names
ADJECTIVE = 0.25  # how often a noun has one
PLURAL = 0.25
OBJECT: dict[Determiner, int] = {"the": 6, "a": 5, "number": 3, "this": 2, "my": 2, "none": 2}
SUBJECT: dict[Determiner, int] = {"the": 6, "a": 2, "number": 2, "this": 1, "my": 2}
PLACE: dict[Determiner, int] = {"the": 5, "my": 1}
Weights = dict[Determiner, int]
PUBLIC = frozenset({"water", "outside", "goal", "shore", "cover"})  # nobody's own


class Phrases:
    """The words that go with each word, looked up once."""

    def __init__(self) -> None:
        words = lexicon()
        self.verbs = words.verbs
        self.numbers = words.numbers
        self.persons = [word for word in words.subjects if word.person != "w"]
        self.others = [word for word in self.persons if word.person != "1"]
        self.weather = [word for word in words.subjects if word.person == "w"]
        self.adjectives: dict[Noun, list[Adjective]] = {
            noun: [adjective for adjective in words.adjectives if adjective.nouns & noun.classes]
            for noun in words.nouns
        }
        self.feelings = [adjective for adjective in words.adjectives if "feeling" in adjective.nouns]
        self.agents = {verb: self.of(verb.subjects) for verb in words.verbs}
        self.things = {verb: self.of(verb.objects) for verb in words.verbs}
        self.places = {verb: self.spots(verb.places) for verb in words.verbs}
        self.times = {
            tense: [time for time in words.times if letter in time.tenses] for letter, tense in TENSES.items()
        }

    def of(self, classes: frozenset[str]) -> list[Noun]:
        return [noun for noun in lexicon().nouns if noun.classes & classes]

    def spots(self, kinds: frozenset[str]) -> list[tuple[Preposition, Noun]]:
        words = lexicon()
        found = {
            (preposition.english, noun.english, noun.german): (preposition, noun)
            for noun in words.nouns
            for preposition in words.prepositions
            if preposition.kind in noun.classes & kinds
        }
        return list(found.values())  # "in the bank" is one place, be the bank a room or where somebody works


def weighted(draws: random.Random, weights: dict[T, int]) -> T:
    return draws.choices(list(weights), list(weights.values()))[0]


def phrase(
    phrases: Phrases, draws: random.Random, noun: Noun, weights: Weights, adjective: float = ADJECTIVE
) -> NounPhrase:
    """A noun with a determiner that it can have."""
    determiner = fitting_determiner(noun, weighted(draws, weights))
    plural = determiner in ("number", "none") or (determiner in ("the", "this", "my") and draws.random() < PLURAL)
    plural = plural and bool(noun.plural)
    number = draws.choice(phrases.numbers) if determiner == "number" else None
    fitting = phrases.adjectives[noun]
    described = draws.choice(fitting) if fitting and draws.random() < adjective else None
    return NounPhrase(noun, determiner, described, plural, number)


def fitting_determiner(noun: Noun, drawn: Determiner) -> Determiner:
    """The one drawn, or else one that such a noun does have: no "two milks", no "my river"."""
    classes, person = noun.classes, "person" in noun.classes
    if "mass" in classes:
        return drawn if drawn == "none" else "the"
    if "single" in classes:
        return drawn if drawn == "my" else "the"
    if drawn == "my" and (classes & PUBLIC or (person and not classes & {"kin", "worker"})):
        return "the"
    if "relative" in classes and drawn in ("a", "this"):
        return "my"
    if person and drawn == "none":
        return "the"
    return drawn


def subject(phrases: Phrases, draws: random.Random, verb: Verb | None = None, tense: Tense = "state") -> Subject:
    """Who does it: a pronoun, a name, or a noun with this verb; without a verb, a person.

    In German each verb has a form for "I" of its own in the present. A demo would see most too rarely to learn them, so
    "I" does what the forms of a few verbs tell: what is past, to come, or a state.
    """
    if verb and "weather" in verb.subjects:
        return phrases.weather[0]
    if verb is None or ("person" in verb.subjects and draws.random() < NAMES):
        return draws.choice(phrases.others if tense in ("progressive", "habit") else phrases.persons)
    return phrase(phrases, draws, draws.choice(phrases.agents[verb]), SUBJECT)


def place(phrases: Phrases, draws: random.Random, spots: Sequence[tuple[Preposition, Noun]]) -> Place:
    preposition, noun = draws.choice(spots)
    where = phrase(phrases, draws, noun, PLACE, ADJECTIVE / 2)
    return Place(preposition, replace(where, plural=False))


Slot = Literal["front", "mid", "end"]
SLOTS: tuple[Slot, ...] = ("front", "mid", "end")


def slot(draws: random.Random, time: Time, front: bool) -> Slot | None:
    """Where in an English sentence; None when only the front would do and is not free."""
    open_slots = [name for name in SLOTS if name in time.slots and (front or name != "front")]
    return draws.choice(open_slots) if open_slots else None
