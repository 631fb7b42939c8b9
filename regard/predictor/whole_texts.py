"""Texts of any length: their sentences are predicted one by one, and put together again."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

from regard.decoding import Search
from regard.documents.document import Document, nth
from regard.documents.glossary import Glossary
from regard.errors import DataError
from regard.predictor.predictions import Predictions
from regard.predictor.terminology import prefixes_of_sentences
from regard.results import DocumentPrediction, Prediction

if TYPE_CHECKING:
    from regard.predictor.predictor import Predictor

Pair = tuple[str, str]  # codes of languages


def translated(
    predictor: "Predictor",
    texts: Sequence[str],
    *,
    search: Search | None,
    glossary: Glossary | Sequence[Glossary] | None,
    prefixes: Sequence[str] | None,
) -> Predictions:
    """Return one prediction per text, as `Predictor.translate` promises."""
    documents = [predictor.task.document(text, predictor.languages[0]) for text in texts]
    pairs = zip(texts, documents, strict=True)
    asked = [[text] if document is None else predictor.task.lines(document.texts) for text, document in pairs]
    begins = None if prefixes is None else prefixes_of_sentences(prefixes, asked)
    flat = [one for some in asked for one in some]
    try:
        found = iter(predictor.predict(flat, search=search, glossary=glossary, prefixes=begins))
    except DataError as error:
        if error.line is None:
            raise
        ends = list(accumulate(map(len, asked)))
        raise error.at(bisect_left(ends, error.line) + 1) from error
    answers = [[next(found) for _ in some] for some in asked]
    _explain_placeholders(predictor, documents, answers)
    checks = zip(answers, documents, strict=True)
    answers = [parts if document is None else document.checked(parts) for parts, document in checks]
    pair = known_pair(predictor.languages)
    return Predictions(
        parts[0] if document is None else _composed(text, document, parts, pair)
        for text, document, parts in zip(texts, documents, answers, strict=True)
    )


def known_pair(languages: tuple[str | None, str | None]) -> Pair | None:
    """Return the languages, where both are known."""
    source, target = languages
    return None if source is None or target is None else (source, target)


def _explain_placeholders(
    predictor: "Predictor", documents: Sequence[Document | None], answers: list[list[Prediction]]
) -> None:
    """Explain the sentences with placeholders, of all documents, in place: links tell where each goes."""
    where = [
        (number, place)
        for number, document in enumerate(documents)
        for place, passage in enumerate(document.passages if document else ())
        if passage.explain
    ]
    linked = predictor.linked([answers[number][place] for number, place in where])
    for (number, place), one in zip(where, linked, strict=True):
        answers[number][place] = one


def _composed(text: str, document: Document, parts: list[Prediction], pair: Pair | None) -> Prediction:
    """The prediction of a text, by those of its sentences."""
    whole = document.rebuild(parts, pair)
    if parts and parts[0].source == text:
        alternatives = [replace(one, source=text, text=document.rebuild([one], pair)) for one in parts[0].alternatives]
        return replace(parts[0], source=text, text=whole, alternatives=alternatives)
    others: list[Prediction] = [
        DocumentPrediction(text, other, math.fsum(nth(one, number).score for one in parts))
        for number, other in enumerate(document.alternatives(parts, pair))
    ]
    least = min((one.confidence or 0.0 for one in parts if one.confidences is not None), default=None)
    return DocumentPrediction(
        text,
        whole,
        math.fsum(one.score for one in parts),
        [value for one in parts for value in one.log_probs],
        all(one.finished for one in parts),
        others,
        warning="; ".join(dict.fromkeys(one.warning for one in parts if one.warning)),
        parts=parts,
        confidences=None if least is None else [least],
    )
