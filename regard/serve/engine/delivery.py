"""What a model's process said of a batch → those who wait for it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from regard.results import Prediction
from regard.serve.engine.faults import Failed, OutOfMemory, ServingError, TooCostly, TooLong, Unreadable
from regard.serve.engine.waiting import Item, Texts


class Miscounted(Exception):
    """A text whose pieces were guessed has more than its lane takes."""


def deliver(items: Sequence[Item], said: Mapping[str, Any]) -> None:
    """Each text its answer; a request is answered with its last text, or with the first fault."""
    answers = said.get("answers") or [{"failed": said.get("fault", "no answer")}] * len(items)
    for (request, number), answer in zip(items, answers, strict=True):
        if request.answer.done():  # nobody waits for it
            continue
        if "prediction" not in answer:
            request.answer.set_exception(_fault(request.texts.before + request.places[number], answer))
            continue
        request.found[number] = answer["prediction"]
        if None not in request.found:
            request.answer.set_result(cast(list[Prediction], request.found))


def counted(texts: Texts, said: Iterable[Mapping[str, Any]]) -> tuple[dict[int, int], dict[int, Prediction]]:
    """The pieces of texts, as a model's process has counted them, and the answers of those that are only copied.

    Both by the places of the texts. Raises the fault of the first that has one.
    """
    found = [answer for one in said for answer in one.get("counted") or [{"failed": one.get("fault", "no answer")}]]
    sizes, answers = dict[int, int](), dict[int, Prediction]()
    for place, one in enumerate(found):
        if "pieces" in one:
            sizes[place] = one["pieces"]
        elif "prediction" in one:
            answers[place] = one["prediction"]
        else:
            raise _fault(texts.before + place, one)
    return sizes, answers


def _fault(index: int, answer: Mapping[str, Any]) -> ServingError | Miscounted:
    if "pieces" in answer:
        return Miscounted()
    if "long" in answer:
        pieces, limit = answer["long"]
        return TooLong(index, pieces, limit)
    if "costly" in answer:
        return TooCostly(*answer["costly"])
    if "wrong" in answer:
        return Unreadable(index, answer["wrong"])
    return OutOfMemory(index) if "memory" in answer else Failed(index, answer["failed"])
