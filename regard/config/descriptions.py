"""Description of a setting, in one sentence, beside the setting: `patience: Annotated[Count, Doc("…")] = 10`.

A part whose docstring explains a setting by its name in backticks needs no `Doc` for it.
"""

import re
from inspect import cleandoc
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

_END = re.compile(r"(?<=[.:;])\s+(?=[^a-z])|\n\n")  # of a sentence


class Doc(NamedTuple):
    """Stands in `Annotated[…]`: one sentence on a setting."""

    text: str


class Before(NamedTuple):
    """Stands in `Annotated[…]` of a row's own setting: the shared one in front of which it is listed."""

    name: str


class Fixed(NamedTuple):
    """Stands in `Annotated[…]` of a setting that cannot change in a run which has begun: its weights rest on it."""


class Open(NamedTuple):
    """Stands in `Annotated[…]` of a group that a trained model leaves open: no weight rests on it."""


class Taken(NamedTuple):
    """Stands in `Annotated[…]` of a setting that a run takes from the one that it starts from."""


def bears(annotation: Any, mark: type) -> bool:
    """Return whether a setting bears such a mark."""
    return any(isinstance(one, mark) for one in _marks(annotation))


def marked(kind: type, mark: type) -> tuple[str, ...]:
    """Return the names of the fields of a dataclass that bear such a mark."""
    return tuple(name for name, hint in get_type_hints(kind, include_extras=True).items() if bears(hint, mark))


def described(annotation: Any, name: str, docstring: str | None) -> str:
    """Return the `Doc` of a setting, else what the docstring says of it, else ""."""
    own = [mark.text for mark in _marks(annotation) if isinstance(mark, Doc)]
    return own[-1] if own else _sentence(name, cleandoc(docstring or ""))


def listed_before(annotation: Any) -> str:
    """Return the setting in front of which this one is listed, or ""."""
    return next((mark.name for mark in _marks(annotation) if isinstance(mark, Before)), "")


def _marks(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()


def _sentence(name: str, docstring: str) -> str:
    """The first sentence with the name in backticks."""
    found = next((said for said in _END.split(docstring) if f"`{name}`" in said), "")
    return " ".join(found.split())
