"""Bytes as text: by the byte order mark, as UTF-8, or by the encoding that a file declares."""

import codecs

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
ENCODING_HEAD = 8_192  # bytes that hold the name of the encoding


def decoded_text(data: bytes, declared: str | None = None) -> tuple[str, str]:
    """Return (text, encoding) by the byte order mark, else UTF-8, else the declared encoding.

    Raises ValueError for bytes that none of these reads.
    """
    marked = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), None)
    for name in [marked] if marked else ["utf-8", *([declared] if declared else [])]:
        try:
            return data.decode(name), name
        except UnicodeError:  # not UnicodeDecodeError: some encodings raise others
            continue
        except LookupError:
            break
    raise ValueError("not readable text (save it as UTF-8)")
