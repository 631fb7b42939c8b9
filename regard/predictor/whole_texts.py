"""Answers to the sentences of texts, put together again."""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

from regard.decoding import Search
from regard.documents.document import Document, nth
from regard.documents.glossary import Glossary
from regard.errors import DataError
from regard.memory import Recall, SegmentMemory, SentenceMatches, reused
from regard.predictor.predictions import Predictions
from regard.predictor.source_context import SourceContext
from regard.predictor.terminology import of_places, prefixes_of_sentences
from regard.results import DocumentPrediction, MemoryMatch, Prediction
from regard.text.windows import with_windows

if TYPE_CHECKING:
    from regard.predictor.predictor import Predictor

_LanguagePair = tuple[str, str]  # codes of source and target
_Aligned = Callable[[Sequence[Prediction]], Iterable[Prediction]]


def translated(
    predictor: "Predictor",
    texts: Sequence[str],
    *,
    search: Search | None,
    glossary: Glossary | Sequence[Glossary] | None,
    prefixes: Sequence[str] | None,
    memory: SegmentMemory | None,
) -> Predictions:
    """Return the prediction of each text, as `Predictor.translate` does."""
    if prefixes is not None and memory is not None:
        raise DataError("memory", "does not go with prefixes: it answers whole sentences", hint="leave one out")
    task, languages = predictor.task.texts, predictor.setup.languages
    documents = [task.document(text, languages[0]) for text in texts]
    recalls = _recalled(memory, texts, documents, predictor.setup.context)
    documents = [None if one.whole else document for one, document in zip(recalls, documents, strict=True)]
    sides = [[text] if one is None else one.texts for text, one in zip(texts, documents, strict=True)]
    asked = [with_windows(some, task.window) if one else some for one, some in zip(documents, sides, strict=True)]
    lines = [one for some in asked for one in some]
    begins = None if prefixes is None else prefixes_of_sentences(prefixes, asked)

    def answers(left: list[int]) -> list[Prediction]:
        given = [lines[place] for place in left]
        some = of_places(glossary, left)
        return predictor.predict(
            given, search=search, glossary=some, prefixes=begins, matches=of_matches(matches, left)
        )

    matches = [found for one in recalls for found in one.matches]
    with naming_documents(asked):
        found = iter(reused([one for some in sides for one in some], matches, answers))
    parts = [[next(found) for _ in some] for some in asked]
    return Predictions(composed(texts, documents, parts, predictor.explainer.with_alignments, known_pair(languages)))


def _recalled(
    memory: SegmentMemory | None, texts: Sequence[str], documents: Sequence[Document | None], context: SourceContext
) -> list[Recall]:
    """Return the matches of each text; the sentence before a text is the last one of the text before it."""
    recalls, before = list[Recall](), ""
    for text, document in zip(texts, documents, strict=True):
        sentences = [text] if document is None else document.originals
        found = Recall(whole=False, matches=[[] for _ in sentences])
        if memory is not None:
            least, most = context.min_percent, context.most_searched
            found = memory.recall(text, sentences, before=before, threshold=least, limit=most)
        recalls.append(found)
        before = next((one for one in reversed(sentences) if one.strip()), before)
    return recalls


def recalled_sentences(
    memory: SegmentMemory | None, sentences: Sequence[str], context: SourceContext
) -> list[list[MemoryMatch]]:
    """Return the matches of the sentences of a document."""
    if memory is None:
        return [[] for _ in sentences]
    return memory.recall("", sentences, threshold=context.min_percent, limit=context.most_searched).matches


def of_matches(matches: SentenceMatches, places: Sequence[int]) -> SentenceMatches:
    """Return the matches of some sentences."""
    return [matches[place] for place in places]


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
        if passage.explain and (passage.nodes or not answers[number][place].reused)
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
