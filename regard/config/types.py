"""Annotations as settings want them: no "3" for 3, and the house's words carry their limits."""

import re
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Lt
from pydantic import AllowInfNan, Strict

_SCALARS = {
    int: Annotated[int, Strict()],
    float: Annotated[float, Strict(), AllowInfNan(False)],  # a whole number is a number too
    bool: Annotated[bool, Strict()],
    str: Annotated[str, Strict()],
}
_LIMITS = (
    (int, r"dim|size|num_\w+|max_\w+|accumulate|\w+_(dim|size|tokens|every)", (Ge(1),)),
    (int, r"(?!\w+_layer)\w+", (Ge(0),)),  # layers may be counted from the top: -1
    (float, r"(\w+_)?dropout|label_smoothing", (Ge(0), Lt(1))),
    (float, r"learning_rate|temperature", (Gt(0),)),
    (float, r"\w*minutes", (Ge(0),)),
)


def strict(annotation: Any) -> Any:
    """The same type, taking neither texts for numbers nor numbers for truth values, at any depth."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is None:
        return _SCALARS.get(annotation, annotation) if isinstance(annotation, type) else annotation
    if origin is Annotated:
        return Annotated[(strict(arguments[0]), *annotation.__metadata__)]
    if origin in (Union, UnionType):
        return Union[tuple(strict(argument) for argument in arguments)]  # noqa: UP007  made at run time
    if origin is Literal:
        return annotation
    return origin[tuple(argument if argument is ... else strict(argument) for argument in arguments)]


def limited(name: str, annotation: Any) -> Any:
    """Sizes are at least one, counts not negative, dropout is a share, unless the annotation says something itself."""
    inner = [part for part in get_args(annotation) or (annotation,) if part is not type(None)]
    for kind, words, limits in _LIMITS:
        if inner == [kind] and re.fullmatch(words, name):
            bounded: Any = Annotated[(kind, *limits)]
            return bounded | None if get_args(annotation) else bounded
    return annotation
