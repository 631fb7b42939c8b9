"""Lines are split at "\\n" alone, and whatever is no UTF-8 text is named with its place."""

import gzip
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.readers import lines
from regard.data.readers.lines import digest, read_lines
from regard.errors import DataError


@pytest.fixture(params=["plain", "gz"])
def write(request, tmp_path):
    """A function that writes bytes to a file of either kind."""

    def to_file(data: bytes):
        path = tmp_path / ("text.txt.gz" if request.param == "gz" else "text.txt")
        path.write_bytes(gzip.compress(data) if request.param == "gz" else data)
        return path

    return to_file


def test_only_newlines_end_lines(write):
    text = "a\u2028b\r\n\n c\x0b\x0c\x85\x1e \rd\n\r\r\nlast"
    assert list(read_lines(write(text.encode()))) == ["a\u2028b", "", " c\x0b\x0c\x85\x1e \rd", "\r", "last"]


def test_byte_order_mark_is_left_out_at_the_start_only(write):
    assert list(read_lines(write("\ufeffa\n\ufeffb\n".encode()))) == ["a", "\ufeffb"]
    assert list(read_lines(write("\ufeff\r\n".encode()))) == [""]


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=20), min_size=1))
def test_what_is_written_is_read(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("lines") / "text"
    path.write_bytes("".join(text + "\r\n" for text in texts).encode())
    assert list(read_lines(path)) == [texts[0].removeprefix("\ufeff"), *texts[1:]]


@pytest.mark.parametrize(
    ("data", "line", "byte", "offset", "place"),
    [
        (b"\xffabc\n", 1, "ff", 0, 1),
        (b"good\nb\xe9d\n", 2, "e9", 6, 2),
        ("ä\n\ufeffö\n".encode() + b"ab\xc3", 3, "c3", 11, 3),  # cut off in the middle of a letter
        (b"\xef\xbb\xbfa\xed\xa0\x80\n", 1, "ed", 4, 5),  # half of a surrogate pair, after a byte order mark
    ],
)
def test_a_bad_byte_is_named_with_line_and_offset(write, data, line, byte, offset, place):
    path = write(data)
    with pytest.raises(DataError) as caught:
        list(read_lines(path))
    told = f"{path}:{line}: not UTF-8: byte 0x{byte} at byte {offset} of the file, {place} of the line"
    assert str(caught.value).partition(" (save")[0] == told


@pytest.mark.parametrize(
    ("name", "data", "command"),
    [
        ("a.txt", "gut\nschön\n".encode("latin1"), "iconv -f latin1 -t utf-8 {}"),
        ("a.txt", "a “word”\n".encode("windows-1252"), "iconv -f cp1252 -t utf-8 {}"),
        ("a.txt", "schön\nun œuf\n".encode("cp1252"), "iconv -f cp1252 -t utf-8 {}"),  # told by a later line
        ("a.gz", gzip.compress("schön\n".encode("latin1"), mtime=0), "gzip -dc {} | iconv -f latin1 -t utf-8"),
        ("a.txt", "cut ö".encode()[:-1], None),
        ("a.txt", b"sch\xf6n\n" + "schön\n".encode(), None),  # other lines are UTF-8
        ("a.txt", b"\xed\xa0\x80\n", None),
    ],
)
def test_another_encoding_is_told_with_the_command_that_mends_it(tmp_path, name, data, command):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(DataError) as caught:
        list(read_lines(path))
    hint = command and f"(save it as UTF-8, for example: {command.format(path)})"
    assert str(caught.value).endswith(hint) if hint else "save it" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "hint"),
    [(gzip.compress(b"text", mtime=0), "name must end with .gz"), ("ab\n".encode("utf-16"), "save it as UTF-8")],
)
def test_likely_causes_are_told(tmp_path, data, hint):
    path = tmp_path / "text.txt"
    path.write_bytes(data)
    with pytest.raises(DataError, match=hint):
        list(read_lines(path))


def test_an_empty_file_is_refused(write):
    with pytest.raises(DataError, match="is empty"):
        list(read_lines(write(b"")))


@pytest.mark.parametrize("read", [lambda path: list(read_lines(path)), digest], ids=["lines", "digest"])
def test_what_is_no_file_is_refused(tmp_path, read):
    with pytest.raises(DataError, match=r"none\.txt: there is no such file"):
        read(tmp_path / "none.txt")
    with pytest.raises(DataError, match="is a folder"):
        read(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match=r"not a regular file.*more than once"):
        read(tmp_path / "pipe")


def test_a_damaged_gzip_file_is_refused(tmp_path):
    path, whole = tmp_path / "text.gz", gzip.compress(b"some words\n" * 1000)
    swapped = bytearray(whole)
    swapped[len(whole) // 2] ^= 0xFF
    for data in (b"no gzip at all\n", whole[: len(whole) // 2], whole[:-4], bytes(swapped)):
        path.write_bytes(data)
        with pytest.raises(DataError, match=r"text\.gz: damaged gzip file"):
            list(read_lines(path))


def test_endless_lines_are_refused(write, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST_LINE", 100)
    with pytest.raises(DataError, match=":2: more than 100 bytes without an end of line"):
        list(read_lines(write(b"short\n" + b"\0" * 1000)))
