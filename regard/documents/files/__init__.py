"""Files → sentences for a model, and back into a file of the same kind."""

from collections.abc import Callable, Mapping

from regard.documents.files.base import FileDocument, FileError
from regard.documents.files.docx import docx_file
from regard.documents.files.srt import srt_file
from regard.documents.files.text_and_html import html_file, text_file
from regard.errors import nearest

FILES: Mapping[str, Callable[[bytes, str | None], FileDocument]] = {
    ".txt": text_file,
    ".srt": srt_file,
    ".html": html_file,
    ".htm": html_file,
    ".docx": docx_file,
}
SUFFIXES = tuple(FILES)

__all__ = ["SUFFIXES", "FileDocument", "FileError", "file_document"]


def file_document(data: bytes, suffix: str, *, language: str | None = None) -> FileDocument:
    """What is to be translated of a file, and how it is written again.

    `suffix` is one of SUFFIXES, `language` that of the text. Raises FileError for any other suffix and for a file that
    is broken, too large once unpacked, or in an encoding that cannot be told; TooMuch for one with too much in it.
    """
    if suffix.lower() not in FILES:
        raise FileError(f"a file of the kind '{suffix}' cannot be translated; {nearest(suffix, SUFFIXES)}")
    return FILES[suffix.lower()](data, language)
