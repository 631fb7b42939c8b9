"""Other names of parts. A part lists its own in a class attribute: `aliases = "bahdanau, rnnsearch, 加性"`.

Where names say settings, too, or have two meanings, it is a tuple: `("local_p", alias("local", note="…"))`.

Spelling makes no difference: capitals, spaces, hyphens, plurals and words such as "attention", "model" or 机制 at the
end are ignored. See `bare`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T", bound=Callable[..., Any])

_WORDS = re.compile(r"[\u3400-\u9fff]+|[^\W_\u3400-\u9fff]+")
_WHOLE = frozenset({"attention", "mechanism", "model", "am"})  # at the end, as words of their own
_JOINED = ("attention", "mechanism", "机制", "注意力", "模型")  # at the end of a word, too


class Alias(NamedTuple):
    """Names of a part with certain settings."""

    names: tuple[str, ...]
    settings: Mapping[str, Any]
    note: str  # what a name with two meanings is taken for, or ""
    num_heads: int | None  # of a whole attention of that name, where no setting gives them; None: the default


def alias(
    names: str, settings: Mapping[str, Any] | None = None, note: str = "", *, num_heads: int | None = None
) -> Alias:
    """Names, separated by ", ", for a part with these settings."""
    return Alias(tuple(names.split(", ")), settings or {}, note, num_heads)


def known_as(*aliases: str | Alias) -> Callable[[T], T]:
    """Return a decorator that gives a function its other names."""

    def mark(part: T) -> T:
        vars(part)["aliases"] = aliases
        return part

    return mark


def aliases_of(part: Any) -> tuple[Alias, ...]:
    """Return the other names of a part; a class does not inherit any."""
    found: str | tuple[str | Alias, ...] = getattr(part, "__dict__", {}).get("aliases", ())
    every = (found,) if isinstance(found, str) else found
    return tuple(alias(one) if isinstance(one, str) else one for one in every)


def bare(name: str) -> str:
    """Reduce a name to what distinguishes it: "Local-M attention model" → "localm"."""
    words = [_singular(word) for word in _WORDS.findall(str(name).casefold())]
    while len(words) > 1 and words[-1] in _WHOLE:
        words.pop()
    joined, before = "".join(words), ""
    while joined != before:
        before = joined
        for ending in _JOINED:
            joined = joined.removesuffix(ending) or joined
    return joined


def close(name: str, names: Iterable[str]) -> str:
    """Return a hint that names the nearest of some names, or ""."""
    written = {bare(one): one for one in names}
    found = get_close_matches(bare(name), written, n=1, cutoff=0.6)
    return f"did you mean '{written[found[0]]}'?" if found else ""


def _singular(word: str) -> str:
    if len(word) <= 3 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    return f"{word[:-3]}y" if word.endswith("ies") else word[:-1]
