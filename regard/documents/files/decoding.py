"""Bytes of a text file → text, and the encoding to write it in again."""

import codecs

from regard.documents.files.faults import FileError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_HINT = "save it as UTF-8"


def decoded(data: bytes, declared: str | None = None) -> tuple[str, str]:
    """(text, encoding): what the byte order mark says, else UTF-8, else what the file declares. Raises FileError."""
    marked = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    for name in [marked] if marked else ["utf-8", *([declared] if declared else [])]:
        try:
            return data.decode(name), name
        except UnicodeError:  # not of decoding alone: some encodings fail in ways of their own
            continue
        except LookupError:
            break
    raise FileError(f"the file is not readable text ({_HINT})")
