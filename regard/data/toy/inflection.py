"""German articles, endings and plurals: gender, case and number agree."""

from regard.data.toy.sentence import NounPhrase

# Endings by case for m, f, n and p, the plural of all.
DEFINITE = {"nom": "der die das die", "acc": "den die das die", "dat": "dem der dem den"}
LIKE_THIS = {"nom": "er e es e", "acc": "en e es e", "dat": "em er em en"}  # also an adjective with no article
LIKE_A = {"nom": "- e - e", "acc": "en e - e", "dat": "em er em en"}
WEAK = {"nom": "e e e en", "acc": "en e e en", "dat": "en en en en"}
MIXED = {"nom": "er e es en", "acc": "en e es en", "dat": "en en en en"}

MERGED = {"in dem": "im", "an dem": "am", "zu dem": "zum", "zu der": "zur"}


def merge(text: str) -> str:
    """in dem Garten → im Garten."""
    first, second, rest = (*text.split(" ", 2), "")[:3]
    merged = MERGED.get(f"{first} {second}")
    return f"{merged} {rest}" if merged else text


def phrase(thing: NounPhrase, case: str, none: bool = False) -> str:
    """Article or number, adjective with the ending the article leaves to it, noun; `none` says kein for ein."""
    column = 3 if thing.plural else "mfn".index(thing.noun.gender)
    article, endings = determiner(thing, none), LIKE_THIS
    if thing.determiner == "the":
        article, endings = DEFINITE[case].split()[column], WEAK
    elif thing.determiner == "this":
        article, endings = article + LIKE_THIS[case].split()[column], WEAK
    elif article and thing.determiner != "number":
        article, endings = article + LIKE_A[case].split()[column].strip("-"), MIXED
    words = [article] if article else []
    if thing.adjective:
        words.append(thing.adjective.stem + endings[case].split()[column])
    return " ".join([*words, noun(thing, case)])


def determiner(thing: NounPhrase, none: bool) -> str:
    """The article before its ending."""
    if none:
        return "kein"
    number = thing.number.german if thing.number else ""
    return {"a": "ein", "this": "dies", "my": "mein", "number": number}.get(thing.determiner, "")


def noun(thing: NounPhrase, case: str) -> str:
    """The plural takes an n in the dative unless it ends in n or s."""
    if not thing.plural:
        return thing.noun.german
    plural = thing.noun.german_plural
    return plural + "n" if case == "dat" and plural[-1] not in "ns" else plural
