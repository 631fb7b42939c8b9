"""Sentences whose translations were written by hand."""

import re
from importlib.resources import files
from pathlib import Path

import pytest

from regard.data.toy import trees
from regard.data.toy.language import language
from regard.data.toy.trees import joined, lexicon, located, presence, quality, question, statement

WORDS = lexicon()


def who(word):
    return next(row for row in WORDS.subjects if row.english == word)


def verb(word, german=None):
    return next(row for row in WORDS.verbs if row.english == word and german in (None, row.german))


def time(word):
    return next(row for row in WORDS.times if row.english == word)


def adjective(word, attribute=None, noun=None):
    rows = [row for row in WORDS.adjectives if row.english == word and attribute in (None, row.attribute)]
    return next(row for row in rows if noun is None or row.nouns & noun.classes)


def phrase(text, german=None):
    """the old book, three cats, milk."""
    words = text.split()
    numbers = {row.english: row for row in WORDS.numbers}
    first = words.pop(0) if words[0] in {"the", "a", "an", "this", "these", "my", *numbers} else "none"
    noun = next(row for row in WORDS.nouns if words[-1] in (row.english, row.plural) and german in (None, row.german))
    determiner = {"an": "a", "these": "this"}.get(first, "number" if first in numbers else first)
    described = adjective(words[0], noun=noun) if len(words) > 1 else None
    return trees.phrase(noun, determiner, described, words[-1] == noun.plural, numbers.get(first))


def place(preposition, text, german=None):
    thing = phrase(text, german)
    kinds = thing.noun.classes
    return trees.placed_at(
        next(row for row in WORDS.prepositions if row.english == preposition and row.kind in kinds), thing
    )


def event(subject, action, tense, thing=None, **more):
    subject = who(subject) if any(row.english == subject for row in WORDS.subjects) else phrase(subject)
    action = verb(action) if isinstance(action, str) else action
    return trees.event(subject, action, tense, phrase(thing) if isinstance(thing, str) else thing, **more)


SENTENCES = [  # in the order of by_hand.tsv
    statement(event("she", "open", "past", "the door")),
    statement(event("she", "open", "past", "the door", time=time("yesterday"), slot="front")),
    joined(
        quality(who("Anna"), adjective("happy")),
        "because",
        event("she", "open", "habit", "the window", time=time("often"), slot="mid"),
    ),
    joined(quality(who("he"), adjective("happy")), "when", event("she", "open", "habit", "the door"), True),
    joined(quality(who("we"), adjective("sad"), True), "when", event("my old dog", "bark", "habit")),
    joined(
        event("I", verb("know", "wissen"), "state"),
        "that",
        event("Tom", verb("know", "kennen"), "state", "the teacher"),
    ),
    statement(event("three cats", "sleep", "progressive", place=place("under", "the table"))),
    statement(event("I", "buy", "past", "two books")),
    statement(event("Paul", "buy", "past", "a new car", negative=True)),
    statement(event("they", "have", "state", "a horse", negative=True)),
    question(event("the child", "read", "past", "this letter")),
    question(event("he", "look at", "progressive", "the red flowers")),
    statement(event("the women", "go", "past", "the station", time=time("today"))),
    statement(event("we", "go", "past", "the library", negative=True)),
    statement(event("Lena", "give", "past", "a green apple", receiver=phrase("the children"))),
    statement(event("Maria", "send", "future", "the letter", receiver=phrase("my brother"))),
    statement(event("a duck", "swim", "progressive", place=place("in", "the lake"))),
    statement(event("we", "sit", "progressive", place=place("on", "the bank", "Ufer"))),
    statement(event("Peter", "work", "habit", place=place("in", "the bank", "Bank"), time=time("often"), slot="mid")),
    statement(trees.event(phrase("the bat", "Fledermaus"), verb("sleep"), "progressive")),
    statement(event("Tom", "buy", "past", phrase("a bat", "Schläger"))),
    statement(quality(phrase("the suitcase"), adjective("light", "轻的"))),
    question(quality(phrase("this kitchen"), adjective("light", "明亮的"))),
    statement(quality(phrase("the bicycle"), adjective("red"), True)),
    statement(located(phrase("the keys"), place("on", "the sofa"))),
    statement(presence(place("in", "the garden"), phrase("two white horses"))),
    statement(presence(place("in", "the forest"), phrase("a bird"), True)),
    joined(event("he", "say", "state"), "that", event("it", "rain", "future", time=time("tomorrow"))),
    statement(event("David", "wear", "progressive", "a blue coat")),
    statement(event("Lisa", "drink", "progressive", "cold milk")),
    statement(event("I", "play football", "past", companion=phrase("my friends"))),
    statement(event("she", "call", "past", "the doctor", negative=True)),
]
TEXTS = Path(__file__).with_name("by_hand.tsv").read_text("utf-8").splitlines()


@pytest.mark.parametrize(("sentence", "texts"), list(zip(SENTENCES, TEXTS, strict=True)), ids=TEXTS)
def test_by_hand(sentence, texts):
    assert [say(sentence) for say in map(language, ("english", "german", "chinese"))] == texts.split("\t")


@pytest.mark.parametrize("name", ["english", "german", "chinese"])
def test_rules_name_what_there_is(name):
    """A part that is misspelt would be said as nothing."""
    lines = (files("regard.data.toy") / f"{name}.txt").read_text("utf-8").splitlines()
    lines = [line for line in lines if line and not line.startswith("#")]
    rules = {re.match(r"\w+", line)[0] for line in lines}
    given = set(re.findall(r" (\w+)=", " ".join(re.findall(r"\{[^}]* [^}]*\}", "\n".join(lines)))))
    fields = {field for sentence in SENTENCES for one in derivations(sentence) for field in vars(one)}
    columns = {column for table in WORDS for column in vars(table[0])}
    for line in lines:
        conditions, _, template = line.partition(": ")
        parts = re.findall(r"\{([\w.]+)", template) + re.findall(r"[ !]([\w.]+)(?==|$| )", conditions)
        for first, *path in (part.split(".") for part in parts if part not in ("if", "by")):
            assert first in rules | given | fields, line
            assert set(path) <= columns | fields, line


def derivations(tree):
    if isinstance(tree, trees.RuleTree):
        yield tree
        for part in vars(tree).values():
            yield from derivations(part)
