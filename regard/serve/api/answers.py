"""What the questions under /v1 have in common: which model is asked, and how an answer is written."""

import json
from typing import Any, NamedTuple

from fastapi.responses import Response

from regard.explain.page import to_json
from regard.serve.api import models
from regard.serve.api.checking import check_served, missing
from regard.serve.catalogue import ServedModel
from regard.serve.engine import QuestionRow
from regard.serve.errors import ApiError, bad
from regard.serve.languages import AUTO, inward, outward
from regard.serve.service import Service
from regard.serve.settings import MIB
from regard.serve.translating import Sentence, check_pair

MAX_MAPPED = 1200  # bytes, as a measure of pieces in any script


def asked_pair(
    service: Service, question: models.TranslateQuestion | models.ForcedQuestion
) -> tuple[str, str, ServedModel | None]:
    """Source (maybe auto), target, and the model where one is named. Raises ApiError where they do not fit."""
    source, target, model = inward(question.source), inward(question.target), None
    if question.model is not None:
        model = model_of_name(service, question.model)
        if not model.languages:
            raise bad(f"{model.name} translates nothing: POST /v1/predict asks it")
        own_source, own_target = map(inward, model.languages)
        target = target or own_target
        if source not in {AUTO, own_source} or target != own_target:
            own = f"{outward(own_source)} into {outward(own_target)}"
            raise bad(f"{model.name} translates {own}, not {outward(source)} into {outward(target)}")
    if not target:
        raise missing("target")
    check_served(service.catalogue, source, target)
    if source != AUTO:
        check_pair(service.catalogue, source, target)
    return source, target, model


def model_of_name(service: Service, name: str) -> ServedModel:
    """The model of a name. Raises ApiError where there is none."""
    model = service.catalogue.named(name)
    if model is None:
        raise bad(f"{name[:40]} is no model here ({service.catalogue.hint(name)})")
    return model


def sentence_json(sentence: Sentence) -> dict[str, Any]:
    """A sentence as the page reads it."""
    [prediction] = to_json([sentence.prediction])["predictions"]
    return {"before": sentence.before, "after": sentence.after, **prediction}


def check_maps(*texts: str) -> None:
    """Raises ApiError for texts of which a model would have to tell too much: maps grow with the square of a length."""
    size = sum(len(text.encode()) for text in texts)
    if size > MAX_MAPPED:
        told = f"maps are made of texts of {MAX_MAPPED:,} bytes at most, and this has {size:,}"
        raise ApiError(413, f"{told}: ask for one sentence at a time, or without maps")


class AnswerLimit(NamedTuple):
    """An answer, as large as it may be."""

    limit: int  # bytes
    question: QuestionRow

    def check(self, size: int) -> None:
        """Raises ApiError for so many bytes, if they are too many, with what would make them fewer."""
        if size > self.limit:
            told = f"the answer has at least {size / MIB:.1f} MiB, more than the {self.limit / MIB:.1f} that are sent"
            raise ApiError(413, f"{told}: ask for {self.question.less}")


def json_answer(answer: Any, wanted: AnswerLimit | None = None) -> Response:
    """Raises ApiError for an answer that is too large."""
    body = json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    if wanted is not None:
        wanted.check(len(body))
    return Response(body, media_type="application/json")
