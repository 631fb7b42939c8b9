"""What a model's process said of a batch → those who wait for it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from regard.results import Prediction
from regard.serve.engine.faults import Failed, OutOfMemory, ServingError, TooCostly, TooLong, Unreadable
from regard.serve.engine.messages import Answers, CountReply, Found, Pieces, Refused, Said
from regard.serve.engine.waiting import Item


class Miscounted(Exception):
    """A text whose pieces were guessed has more than its lane takes."""


def deliver(items: Sequence[Item], said: Said) -> None:
    """Each text its answer; a request is answered with its last text, or with the first fault."""
    answers = said.outcomes if isinstance(said, Answers) else [_failure(said)] * len(items)
    for item, answer in zip(items, answers, strict=True):
        request = item.request
        if request.answer.done():  # nobody waits for it
            continue
        if isinstance(answer, Refused):
            request.answer.set_exception(_fault(item.place, answer))
            continue
        request.found[item.number] = answer.prediction.prediction
        if None not in request.found:
            request.answer.set_result(cast(list[Prediction], request.found))


def counted(said: Iterable[Said], before: int) -> tuple[dict[int, Pieces], dict[int, Prediction]]:
    """The pieces of texts, as a model's process has counted them, and the answers of those that are only copied.

    Both by the places of the texts. Raises the fault of the first that has one; `before` it the caller gave so many.
    """
    found = [one for some in said for one in (some.outcomes if isinstance(some, CountReply) else [_failure(some)])]
    sizes, answers = dict[int, Pieces](), dict[int, Prediction]()
    for place, one in enumerate(found):
        match one:
            case Pieces():
                sizes[place] = one
            case Found():
                answers[place] = one.prediction.prediction
            case Refused():
                raise _fault(before + place, one)
    return sizes, answers


def _failure(said: Said) -> Refused:
    return Refused("failed", getattr(said, "reason", "no answer"))


_FAULTS: Mapping[str, Callable[[int, Any], ServingError | Miscounted]] = {
    "pieces": lambda index, told: Miscounted(),
    "long": lambda index, told: TooLong(index, *told),
    "costly": lambda index, told: TooCostly(*told),
    "wrong": Unreadable,
    "memory": lambda index, told: OutOfMemory(index),
    "failed": Failed,
}


def _fault(index: int, refused: Refused) -> ServingError | Miscounted:
    return _FAULTS[refused.kind](index, refused.told)
