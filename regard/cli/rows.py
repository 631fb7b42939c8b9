"""Predictions as lines of text or JSON."""

import json
from typing import Any

from regard.results import Prediction


def row(prediction: Prediction, number: int, *, n_best: int, scores: bool, alignment: bool, as_json: bool) -> str:
    """What is written for source line `number`, from 0; several lines only when several texts are wanted."""
    links = _links(prediction) if alignment else None
    return _json(prediction, n_best, links) if as_json else _line(prediction, number, n_best, scores, links)


def _json(prediction: Prediction, n_best: int, links: str | None) -> str:
    """One JSON object for one source line."""
    best = [prediction, *prediction.alternatives][:n_best]
    rows = [{"text": one.text, "score": one.score, "finished": one.finished} for one in best]
    others = [{**told, **one.details()} for told, one in zip(rows[1:], best[1:], strict=True)]
    more: dict[str, Any] = {"alternatives": others} if n_best > 1 else {}
    more |= {} if links is None else {"alignment": links}
    more |= prediction.details()
    return json.dumps({"source": prediction.source, **rows[0], **more}, ensure_ascii=False)


def _line(prediction: Prediction, number: int, n_best: int, scores: bool, links: str | None) -> str:
    after = "" if links is None else f"\t{links}"
    if n_best > 1:
        best = [prediction, *prediction.alternatives][:n_best]
        first, *rest = [f"{number} ||| {_one_line(str(one))} ||| {one.score:.4f}" for one in best]
        return "\n".join([first + after, *rest])  # the links are those of the best
    return (f"{prediction.score:.4f}\t" if scores else "") + _one_line(str(prediction)) + after


def _links(prediction: Prediction) -> str:
    """Links of words, from 0, source before target."""
    from regard.explain import format_pharaoh, word_alignment

    found = prediction.explanation
    if found is None or not found.weights:
        return ""
    return format_pharaoh(word_alignment(found.source_tokens, found.target_tokens, found.weights).links)


def _one_line(text: str) -> str:
    return text.replace("\n", " ")
