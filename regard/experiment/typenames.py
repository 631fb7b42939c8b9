"""Types of settings as a person would write them: `int >= 1`, `list of encoders`, `a history or null`."""

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from regard.config import PartOf

BOUNDS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}  # as annotated_types names them


def typename(annotation: Any) -> str:
    """What may stand in the place of a setting."""
    marks: Sequence[Any] = ()
    if get_origin(annotation) is Annotated:
        annotation, *marks = get_args(annotation)
    part = next((mark for mark in marks if isinstance(mark, PartOf)), None)
    if part is not None:
        word = _word(part)
        return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"
    bounds = [f" {sign} {getattr(mark, key)}" for mark in marks for key, sign in BOUNDS.items() if hasattr(mark, key)]
    return _plain(annotation) + ",".join(bounds)


def _plain(annotation: Any) -> str:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return _either([str(one) for one in inner])
    if origin in (Union, UnionType):
        return _either([typename(one) for one in inner])
    if origin is tuple:
        return f"list of {_several(inner[0]) if inner[-1] is ... else f'{len(inner)} {_several(inner[0])}'}"
    if origin is Mapping:
        return "group of settings" if inner[-1] is Any else f"group of {_several(inner[-1])}"
    if is_dataclass(annotation):
        return "group of settings"
    return "null" if annotation is NoneType else str(annotation.__name__)


def _several(annotation: Any) -> str:
    """What a list holds: encoders, int >= 1."""
    part = next((mark for mark in get_args(annotation) if isinstance(mark, PartOf)), None)
    return typename(annotation) if part is None else f"{_word(part).removesuffix('s')}s"


def _word(part: PartOf) -> str:
    """The last of the names of the place: encoder, of model.encoder."""
    return part.table.place.rpartition(".")[2]


def _either(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last
