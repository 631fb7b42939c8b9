"""Subtitles: numbers and times stay, every subtitle is translated by itself, its tags kept."""

import re
from collections.abc import Sequence

from pysubs2 import SSAFile
from pysubs2.exceptions import Pysubs2Error
from pysubs2.formats.subrip import SubripFormat

from regard.documents.document import Document
from regard.documents.files.base import FileDocument, FileError, decoded, file_of, file_room, rebuilt
from regard.documents.files.line_wrapping import wrapped
from regard.documents.marked_text import cut
from regard.documents.passages import Kind, Mark
from regard.documents.rendering import Style
from regard.documents.sentences import LIMIT
from regard.documents.size_budget import Room, TooMuch
from regard.documents.words import Span
from regard.results import Prediction

_TIMES = "-->"
_CHARACTERS = 2_000  # of a subtitle: the library's time grows with the square
_BACKSLASH = "\ufdd0"  # stands in for one, since the library reads \N as a line end; Unicode gives it to no character
_TAIL = "\ufdd1"  # begins what stands behind the times of a subtitle, its place on the screen
_BLANK_LINES = re.compile(r"\n(?:[ \t]*+\n){2,}+")
_TAG = re.compile(r"<(/?)([a-zA-Z]\w{0,20}+)[^<>\n]{0,200}+>|\{[^{}\n]{0,200}+\}")
_SPEAKER = re.compile(r"\n(?=[ \t]*+(?:[-–—]|<i>[-–—]))")  # a line that begins with a dash is another person's


def srt_file(data: bytes, language: str | None) -> FileDocument:
    """Line breaks inside a subtitle are made anew, as many as there were. Raises FileError when there is none."""
    text, encoding = decoded(data)
    room = file_room()
    if text.count(_TIMES) > room.sentences:
        raise TooMuch(f"the file has more than {room.sentences:,} subtitles: send it in parts")
    plain = _BLANK_LINES.sub(
        "\n\n", text.replace("\r\n", "\n").replace("\r", "\n").replace(_TAIL, "").replace("\\", _BACKSLASH)
    )
    try:
        subtitles = SSAFile.from_string(plain, format_="srt", keep_html_tags=True)
    except (Pysubs2Error, ValueError) as error:
        raise FileError("the file is no list of subtitles") from error
    if not subtitles:
        raise FileError("the file has no subtitles")
    if max(len(event.text) for event in subtitles) > _CHARACTERS:
        raise FileError(f"the file has a subtitle of more than {_CHARACTERS} characters")
    tails = _tails(plain)
    lines = [_SPEAKER.split(event.text.replace(r"\N", "\n")) for event in subtitles]
    documents = [[_document(line, language, room) for line in each] for each in lines]
    flat = [document for each in documents for document in each]

    def rebuild(predictions: Sequence[Prediction], pair: tuple[str, str] | None = None) -> bytes:
        waiting = rebuilt(flat, predictions)
        for event, each, tail in zip(subtitles, lines, tails, strict=True):
            spoken = [wrapped(next(waiting).replace(_TAIL, ""), line.count("\n") + 1) for line in each]
            whole = "\n".join([f"{_TAIL}{tail}", *spoken] if tail else spoken)
            event.text = whole.replace("\\", _BACKSLASH).replace("\n", r"\N")
        written = subtitles.to_string("srt", keep_ssa_tags=True)
        written = written.replace(f"\n{_TAIL}", "").replace(_BACKSLASH, "\\")
        return written.replace("\n", "\r\n" if "\r\n" in text else "\n").encode(encoding)

    return file_of(flat, rebuild)


def _tails(plain: str) -> list[str]:
    """What stands behind the times of each subtitle, with the space before it."""
    found = []
    for line in plain.split("\n"):
        times = list(SubripFormat.TIMESTAMP.finditer(line))
        if len(times) == 2:  # as the library knows a subtitle
            found.append(line[times[1].end() :].rstrip())
    return found


def _document(spoken: str, language: str | None, room: Room) -> Document:
    """What one person says in one subtitle."""
    spoken = spoken.replace(_BACKSLASH, "\\")
    text, cursor, marks, sources = "", 0, list[Mark](), list[str]()
    for match in _TAG.finditer(spoken):
        room.mark()
        text += spoken[cursor : match.start()]
        cursor = match.end()
        kind: Kind = "point" if match[2] is None else "close" if match[1] else "open"
        marks.append(Mark(len(text), kind, match[2] or "", len(sources)))
        sources.append(match[0])
    text = (text + spoken[cursor:]).replace("\n", " ")

    def as_written(span: Span, among: Sequence[Mark]) -> str:
        cursor, found = span.start, []
        for mark in among:
            found += [text[cursor : mark.place], sources[mark.number]]
            cursor = mark.place
        return "".join([*found, text[cursor : span.end]])

    found = cut(text, marks, as_written, language=language, limit=LIMIT, room=room)
    return Document(*found, Style(str, sources.__getitem__))
