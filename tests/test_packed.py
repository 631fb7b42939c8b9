"""Compressed files read as they were written, and their damage is a fault."""

import gzip

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from regard.data.readers.lines import read_lines
from regard.errors import DataError
from regard.packed import open_packed, write_packed

LINES = [f"Zeile {number} äöü" for number in range(9_000)]
DATA = "".join(f"{line}\n" for line in LINES).encode()
PACKERS = {".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}


@pytest.mark.parametrize("suffix", ["", *PACKERS])
def test_what_is_written_is_read(tmp_path, suffix):
    path = tmp_path / f"a.en{suffix}"
    with write_packed(path) as file:
        file.write(DATA.decode())
    with open_packed(path) as file:
        assert file.read() == DATA


@pytest.mark.parametrize("suffix", PACKERS)
def test_frames_follow_each_other(tmp_path, suffix):
    path = tmp_path / f"a.en{suffix}"
    path.write_bytes(PACKERS[suffix](DATA[:5_000]) + PACKERS[suffix](DATA[5_000:]))
    assert list(read_lines(path)) == LINES


@given(st.integers(1, 200))
def test_a_cut_file_is_a_fault(tmp_path_factory, cut):
    for suffix, pack in PACKERS.items():
        path = tmp_path_factory.mktemp("cut") / f"a.en{suffix}"
        path.write_bytes(pack(DATA)[:-cut])
        with pytest.raises(DataError, match="damaged"):
            list(read_lines(path))
