"""Answers to the sentences of texts, put together again."""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import accumulate

from regard.documents.document import Document, nth
from regard.errors import DataError
from regard.results import DocumentPrediction, Prediction

_LanguagePair = tuple[str, str]  # codes of source and target
_Aligned = Callable[[Sequence[Prediction]], Iterable[Prediction]]


@contextmanager
def naming_documents(texts: Sequence[Sequence[str]]) -> Iterator[None]:
    """Have faults of sentences name the text that they are of, by its number."""
    try:
        yield
    except DataError as error:
        if error.line is None:
            raise
        ends = list(accumulate(map(len, texts)))
        raise error.at(bisect_left(ends, error.line) + 1) from error


def composed(
    texts: Sequence[str],
    documents: Sequence[Document | None],
    answers: list[list[Prediction]],
    aligned: _Aligned,
    pair: _LanguagePair | None,
) -> list[Prediction]:
    """Return one prediction per text, put together from the answers to its sentences.

    Those with placeholders are `aligned` first: the alignment gives the place of each.
    """
    _explain_placeholders(documents, answers, aligned)
    checks = zip(answers, documents, strict=True)
    checked = [parts if document is None else document.checked(parts) for parts, document in checks]
    return [
        parts[0] if document is None else _whole_text(text, document, parts, pair)
        for text, document, parts in zip(texts, documents, checked, strict=True)
    ]


def known_pair(languages: tuple[str | None, str | None]) -> _LanguagePair | None:
    """Return the languages, where both are known."""
    source, target = languages
    return None if source is None or target is None else (source, target)


def _explain_placeholders(
    documents: Sequence[Document | None],
    answers: list[list[Prediction]],
    aligned: _Aligned,
) -> None:
    """Explain the sentences with placeholders, of all documents, in place."""
    where = [
        (number, place)
        for number, document in enumerate(documents)
        for place, passage in enumerate(document.passages if document else ())
        if passage.explain
    ]
    explained = aligned([answers[number][place] for number, place in where])
    for (number, place), one in zip(where, explained, strict=True):
        answers[number][place] = one


def _whole_text(text: str, document: Document, parts: list[Prediction], pair: _LanguagePair | None) -> Prediction:
    """The prediction of a text, by those of its sentences."""
    whole = document.rebuild(parts, pair)
    if parts and parts[0].source == text:
        alternatives = [replace(one, source=text, text=document.rebuild([one], pair)) for one in parts[0].alternatives]
        return replace(parts[0], source=text, text=whole, alternatives=alternatives)
    others: list[Prediction] = [
        DocumentPrediction(text, other, math.fsum(nth(one, number).score for one in parts))
        for number, other in enumerate(document.alternatives(parts, pair))
    ]
    lowest = min((one.confidence or 0.0 for one in parts if one.confidences is not None), default=None)
    return DocumentPrediction(
        text,
        whole,
        math.fsum(one.score for one in parts),
        [value for one in parts for value in one.log_probs],
        all(one.finished for one in parts),
        others,
        warning="; ".join(dict.fromkeys(one.warning for one in parts if one.warning)),
        parts=parts,
        confidences=None if lowest is None else [lowest],
    )
