"""What must survive a translation letter by letter: `%s`, `{name}`, links, numbers, addresses, hashtags."""

import re
from typing import NamedTuple

from regard.serve.texts.room import Room

_LATIN = r"A-Za-z\u00c0-\u024f"
_MACHINE = r"""(?=[%{$:<&])(?:
  %(?:                                                                       # %(name)s
      \((?:\w|[.-]){1,60}+\)[#0+-]{0,3}\d{0,3}(?:\.\d{1,3})?[a-zA-Z]
    | (?<![\d%]%)(?<!%%)(?:\d{1,3}\$)?[#0+-]{0,3}+\d{0,3}+(?:\.\d{1,3}+)?+(?:hh?|ll?|[qjzt])?  # %s %1$s
      [sdiufFeEgGxXocCpaA@](?![a-zA-Z])
    | (?<!%%)%(?!%)
  )
| \{\{[^{}\r\n]{0,100}+\}\}                                                  # {{name}}
| \$\{[^{}\r\n]{0,100}+\}                                                    # ${name}
| \{[^{}\s]{0,60}+\}                                                         # {name}
| (?<![\w:]):[a-z][a-z0-9_+-]{0,40}+:(?![\w:])                               # :name:
| </?[A-Za-z][\w.:-]{0,40}+(?:[ ][^<>\r\n]{0,200}+)?>                        # <x/> <g id="1">
| </?[A-Za-z0-9][\w.:-]{0,40}+/?>
| &(?:[A-Za-z][A-Za-z0-9]{1,30}+|\#\d{1,7}+|\#[xX][0-9a-fA-F]{1,6}+);        # &nbsp;
)"""
_PLAIN = rf"""
  (?<![\w])(?:https?|ftp)://[^\s<>"“”„«»「」『』《》，。！？；、]{{1,2000}}+
| (?<![\w.@])www\.[^\s<>"“”„«»「」『』《》，。！？；、]{{1,500}}+
| (?<![\w.+-])(?:mailto:)?[\w.+-]{{1,64}}+@[A-Za-z0-9-]{{1,63}}+(?:\.[A-Za-z0-9-]{{1,63}}+){{1,8}}+
| (?<![\w@/])@[A-Za-z0-9_]{{1,60}}+(?:@[A-Za-z0-9.-]{{1,100}}+)?
| (?<![\w&\#])[\#＃](?=\w)[\w]{{1,100}}+
| (?<![\d{_LATIN}_])\d{{1,40}}+(?:[.,:/]\d{{1,40}}+){{0,20}}+(?![\d{_LATIN}_])
"""
_PATTERN = re.compile(f"(?P<machine>{_MACHINE})|(?P<plain>{_PLAIN})", re.VERBOSE)
_LINK = re.compile(r"(?:https?|ftp)://|www\.")
_TRAILING = ".,;:!?'’*_~"


class Placeholder(NamedTuple):
    """Where one stands; `machine` ones are read by programs, so none may appear that was not there."""

    start: int
    end: int
    machine: bool = False
    number: bool = False


def placeholders(text: str, room: Room | None = None) -> list[Placeholder]:
    """All of a text, in order, none inside another. Raises TooMuch when there is no room for them.

    >>> [text[p.start:p.end] for text in ["Hi {name}, see http://a.b/c. 3 new"] for p in placeholders(text)]
    ['{name}', 'http://a.b/c', '3']
    """
    found, room = [], room or Room()
    for match in _PATTERN.finditer(text):
        start, end = match.span()
        if match.lastgroup == "plain":
            end = start + len(_trimmed(match[0]))
        if end > start:
            room.mark()
            found.append(
                Placeholder(start, end, match.lastgroup == "machine", match[0][0].isdigit() and "@" not in match[0])
            )
    return found


def _trimmed(found: str) -> str:
    """A link without the punctuation of the sentence around it; an address without a final stop."""
    trimmed = found.rstrip(_TRAILING) if _LINK.match(found) else found.rstrip(".")
    while trimmed.endswith((")", "]", "}")) and trimmed.count(trimmed[-1]) > trimmed.count(
        {")": "(", "]": "[", "}": "{"}[trimmed[-1]]
    ):
        trimmed = trimmed[:-1].rstrip(_TRAILING)
    return trimmed
