"""SubRip subtitles: numbers, times and tags are kept, each subtitle is translated separately."""

import re
from collections.abc import Sequence

from pysubs2 import SSAFile
from pysubs2.exceptions import Pysubs2Error
from pysubs2.formats.subrip import SubripFormat

from regard.documents.document import Document
from regard.documents.files.base import FileDocument, FileError, decode_text, file_budget, join_documents, rebuild_each
from regard.documents.marked_text import MarkedText
from regard.documents.placeholders import placeholders
from regard.documents.rendering import Style
from regard.documents.size_budget import SizeBudget, TooLarge
from regard.documents.text_spans import in_word
from regard.results import Prediction

_TIMES = "-->"
_CHARACTERS = 2_000  # most in a subtitle: pysubs2 takes quadratic time
_BACKSLASH = "\ufdd0"  # replaces one, since pysubs2 reads \N as a line end; never a character in Unicode
_TAIL = "\ufdd1"  # starts the text after the times: the position on the screen
_BLANK_LINES = re.compile(r"\n(?:[ \t]*+\n){2,}+")
_TAG = re.compile(r"<(/?)([a-zA-Z]\w{0,20}+)[^<>\n]{0,200}+>|\{[^{}\n]{0,200}+\}")
_SPEAKER = re.compile(r"\n(?=[ \t]*+(?:[-–—]|<i>[-–—]))")  # a line that starts with a dash has another speaker
_INLINE = re.compile(r"<[^<>]{0,240}+>|\{[^{}]{0,240}+\}")
_MOST = 12  # lines


def srt_file(data: bytes, language: str | None) -> FileDocument:
    """Read subtitles; each is wrapped again to as many lines as before. Raises FileError if there are none."""
    text, encoding = decode_text(data)
    budget = file_budget()
    if text.count(_TIMES) > budget.sentences:
        raise TooLarge(f"the file has more than {budget.sentences:,} subtitles: send it in parts")
    plain = _BLANK_LINES.sub(
        "\n\n", text.replace("\r\n", "\n").replace("\r", "\n").replace(_TAIL, "").replace("\\", _BACKSLASH)
    )
    try:
        subtitles = SSAFile.from_string(plain, format_="srt", keep_html_tags=True)
    except (Pysubs2Error, ValueError) as error:
        raise FileError("the file is not a list of subtitles") from error
    if not subtitles:
        raise FileError("the file has no subtitles")
    if max(len(event.text) for event in subtitles) > _CHARACTERS:
        raise FileError(f"the file has a subtitle of more than {_CHARACTERS} characters")
    tails = _tails(plain)
    lines = [_SPEAKER.split(event.text.replace(r"\N", "\n")) for event in subtitles]
    documents = [[_document(line, language, budget) for line in each] for each in lines]
    flat = [document for each in documents for document in each]

    def rebuild(predictions: Sequence[Prediction], pair: tuple[str, str] | None = None) -> bytes:
        waiting = rebuild_each(flat, predictions, pair)
        for event, each, tail in zip(subtitles, lines, tails, strict=True):
            spoken = [wrap_lines(next(waiting).replace(_TAIL, ""), line.count("\n") + 1) for line in each]
            whole = "\n".join([f"{_TAIL}{tail}", *spoken] if tail else spoken)
            event.text = whole.replace("\\", _BACKSLASH).replace("\n", r"\N")
        written = subtitles.to_string("srt", keep_ssa_tags=True)
        written = written.replace(f"\n{_TAIL}", "").replace(_BACKSLASH, "\\")
        return written.replace("\n", "\r\n" if "\r\n" in text else "\n").encode(encoding, "replace")

    return join_documents(flat, rebuild)


def _tails(plain: str) -> list[str]:
    """Return the text after the times of each subtitle, with the space before it."""
    found = []
    for line in plain.split("\n"):
        times = list(SubripFormat.TIMESTAMP.finditer(line))
        if len(times) == 2:  # as pysubs2 detects a subtitle
            found.append(line[times[1].end() :].rstrip())
    return found


def _document(spoken: str, language: str | None, budget: SizeBudget) -> Document:
    """Return the text of one speaker in one subtitle as a Document."""
    spoken = spoken.replace(_BACKSLASH, "\\")
    cursor, block = 0, MarkedText()
    for match in _TAG.finditer(spoken):
        budget.count_mark()
        block.add(zip(*[spoken[cursor : match.start()]] * 2, strict=True))
        cursor = match.end()
        block.mark("point" if match[2] is None else "close" if match[1] else "open", match[2] or "", match[0])
    block.add(zip(*[spoken[cursor:]] * 2, strict=True))
    found = block.split(language=language, budget=budget, lines=False)
    return Document(*found, Style(str, block.sources.__getitem__))


def wrap_lines(text: str, lines: int) -> str:
    """Return `text` in at most `lines` lines, broken at spaces or in unspaced scripts, not in tags and numerals."""
    lines = min(lines, _MOST)
    if lines < 2 or not text.strip():
        return text
    shown = _shown(text)
    broken, cursor = [], 0
    inside = {place for one in placeholders(text) if one.numeral for place in range(one.start + 1, one.end)}
    for line in range(1, lines):
        wanted = shown[-1] * line / lines
        breaks = [
            place for place in range(cursor + 1, len(text)) if place not in inside and _may_break(text, place, shown)
        ]
        if not breaks:
            break
        best = min(breaks, key=lambda place: abs(shown[place] - wanted))
        broken.append(text[cursor:best].rstrip())
        cursor = best
    return "\n".join([*broken, text[cursor:].lstrip() if broken else text])


def _shown(text: str) -> list[int]:
    """Return for each position the number of visible characters before it."""
    hidden = bytearray(len(text))
    for match in _INLINE.finditer(text):
        hidden[match.start() : match.end()] = b"\1" * len(match[0])
    counts = [0]
    for flag in hidden:
        counts.append(counts[-1] + (not flag))
    return counts


def _may_break(text: str, place: int, shown: list[int]) -> bool:
    before, after = text[place - 1], text[place]
    if shown[place] == shown[place - 1] and before not in ">}":
        return False  # inside a tag
    if before.isspace():
        return True
    return before.isalpha() and after.isalpha() and not in_word(before) and not in_word(after)
