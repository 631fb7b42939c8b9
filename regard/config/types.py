"""Annotations as settings want them: no "3" for 3, and the house's words carry their limits."""

from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Lt
from pydantic import AllowInfNan, Strict

_SCALARS = {
    int: Annotated[int, Strict()],
    float: Annotated[float, Strict(), AllowInfNan(False)],  # a whole number is a number too
    bool: Annotated[bool, Strict()],
    str: Annotated[str, Strict()],
}


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
    """Sizes and counts are at least one, dropout is a share, unless the annotation says something of its own."""
    inner = {part for part in get_args(annotation) or (annotation,) if part is not type(None)}
    limits: tuple[Any, ...] = ()
    if inner == {int} and (name in ("dim", "size") or name.startswith("num_") or name.endswith(("_dim", "_size"))):
        limits = (Annotated[int, Ge(1)],)
    if inner == {float} and (name == "dropout" or name.endswith("_dropout")):
        limits = (Annotated[float, Ge(0.0), Lt(1.0)],)
    if not limits:
        return annotation
    return limits[0] if get_args(annotation) == () else limits[0] | None
