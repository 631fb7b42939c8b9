"""Translators that do their worst, for tests of what must come out whole."""

import random
from collections.abc import Sequence

from regard.results import Explanation, Prediction

BAD = (
    "<script>alert(1)</script>", "</p>", "<b>", "</b>", "<", ">", "&", "&amp;", "&#60;", "<!--", "-->", "]]>", '"', "'",
    "%", "%s", "%d", "%1$s", "{", "}", "{{", "${", "{other}", ":", "@", "#", "7", "3.5", "http://", "www.", "\0",
    "http://evil.example/", "\ud800", "\u202e", "\ufdd0", "\n", "\t", "  ", "。", "你好", "word", "Wörter", "", "é",
    "▁", "</s>", "<x/>", "\\N", "{\\an8}", "-", "=", "/",
)  # fmt: skip


def translated(text: str, seed: int) -> Prediction:
    """Some answer to a text: sane or not, with an alignment that is right, wrong, out of range or missing."""
    draws = random.Random(f"{seed} {text}")
    words = text.split(" ")
    order = list(range(len(words)))
    kind = draws.randrange(6)
    if kind == 1:
        draws.shuffle(order)
    target = [words[place] for place in order]
    if kind == 2:
        target = [draws.choice(BAD) for _ in range(draws.randrange(12))]
    elif kind == 3:
        target = [word if draws.random() < 0.5 else draws.choice(BAD) for word in target]
    elif kind == 4:
        target = ["".join(draws.sample(word, len(word))) for word in target]
    elif kind == 5:
        target = [word.upper() for word in target for _ in range(draws.randrange(3))]
    glue = draws.choice([" ", " ", "", "  "])
    return Prediction(text, glue.join(target), 0.0, explanation=_explanation(words, target, order, draws))


def all_translated(texts: Sequence[str], seed: int) -> list[Prediction]:
    return [translated(text, seed) for text in texts]


def shouted(texts: Sequence[str]) -> list[Prediction]:
    """Word for word, in capitals."""
    return [
        Prediction(text, text.upper(), 0.0, explanation=aligned(text.split(), text.upper().split())) for text in texts
    ]


def turned(texts: Sequence[str]) -> list[Prediction]:
    """Word for word from the last to the first, truly aligned."""
    answers = []
    for text in texts:
        words = text.split()
        links = [(len(words) - 1 - place, place) for place in range(len(words))]
        answers.append(
            Prediction(text, " ".join(words[::-1]), 0.0, explanation=Explanation.of_text(words, words[::-1], links, []))
        )
    return answers


def aligned(source: Sequence[str], target: Sequence[str]) -> Explanation:
    """Word by word."""
    return Explanation.of_text(list(source), list(target), [(place, place) for place in range(len(source))], [])


def _explanation(words: list[str], target: list[str], order: list[int], draws: random.Random) -> Explanation | None:
    kind = draws.randrange(4)
    if kind == 0:
        return None
    if kind == 1:
        links = [(draws.randrange(-3, len(words) + 3), draws.randrange(-3, len(target) + 3)) for _ in words]
        return Explanation.of_text([draws.choice(BAD) for _ in words], [draws.choice(BAD) for _ in target], links, [])
    if kind == 2:
        links = [(draws.randrange(len(words)), place) for place in range(len(target))]
    else:
        links = [(source, place) for place, source in enumerate(order)]
    return Explanation.of_text(list(words), list(target), links, [])
