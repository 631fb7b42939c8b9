"""Samples events: a verb with all that belongs to it."""

import random
from dataclasses import replace

from regard.data.toy.lexicon import Verb
from regard.data.toy.phrases import OBJECT, Phrases, Weights, phrase, place, slot, subject
from regard.data.toy.sentence import TENSES, Event, NounPhrase, Place, Tense

NEGATIVE, COMPANION = 0.15, 0.3  # how often
DETERMINERS: dict[str, Weights] = {  # of the object, by the first flag that a verb has
    "goal": {"the": 1},
    "plain": {"the": 4, "this": 1, "my": 2, "none": 2},
    "definite": {"the": 4, "this": 1, "my": 2},
    "indefinite": {"a": 4, "number": 3},
    "one": {"the": 4, "a": 4, "this": 1, "my": 2},
}


class Events:
    """Draws somebody who does something."""

    def __init__(self) -> None:
        self.phrases = Phrases()
        self.persons = self.phrases.of(frozenset({"person"}))
        self.kin = self.phrases.of(frozenset({"kin"}))
        self.playmates = self.phrases.of(frozenset({"kin", "pet"}))

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
        thing = self.object(draws, verb, tense)
        times = self.phrases.times[tense] if timed and tense != "state" else []
        time = draws.choice(times) if times and (tense == "habit" or draws.random() < 0.5) else None
        where = slot(draws, time, front) if time else None
        negative = not positive and tense != "habit" and draws.random() < NEGATIVE and can_deny(verb, thing)
        if negative and where != "front" and thing and thing.definite:
            time = where = None  # the place of nicht would be open to taste
        receiver = self.receiver(draws) if "receiver" in verb.flags else None
        return Event(
            subject(self.phrases, draws, verb, tense),
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

    def object(self, draws: random.Random, verb: Verb, tense: Tense) -> NounPhrase | None:
        nouns = self.phrases.things[verb]
        if not nouns:
            return None
        weights = next((some for flag, some in DETERMINERS.items() if flag in verb.flags), OBJECT)
        if tense == "habit":  # nobody always reads three books
            weights = {determiner: weight for determiner, weight in weights.items() if determiner != "number"}
        thing = phrase(self.phrases, draws, draws.choice(nouns), weights)
        one = "goal" in verb.flags or "one" in verb.flags
        return replace(thing, plural=False) if one and thing.plural else thing

    def place(self, draws: random.Random, verb: Verb, thing: NounPhrase | None) -> Place | None:
        spots = self.phrases.places[verb]
        if spots and ("placed" in verb.flags or draws.random() < (0.2 if thing else 0.5)):
            return place(self.phrases, draws, spots)
        return None

    def companion(self, draws: random.Random, verb: Verb) -> NounPhrase | None:
        if "company" not in verb.flags or draws.random() > COMPANION:
            return None
        nouns = self.playmates if verb.english == "play" else self.kin
        return phrase(self.phrases, draws, draws.choice(nouns), {"the": 3, "my": 2}, adjective=0)

    def receiver(self, draws: random.Random) -> NounPhrase:
        return phrase(self.phrases, draws, draws.choice(self.persons), {"the": 3, "my": 1}, adjective=0)


def can_deny(verb: Verb, thing: NounPhrase | None) -> bool:
    """Not three cats, and not on nobody: what no language says simply stays unsaid."""
    return thing is None or (thing.determiner != "number" and (thing.definite or not verb.preposition))
