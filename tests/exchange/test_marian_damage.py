"""Folders of Marian whose files were cut short or changed: refused in one line, or read as they were."""

import gzip
import random

import marian_models as marian
import numpy as np
import pytest

from regard.errors import CheckpointError
from regard.exchange.format import ReadOptions
from regard.exchange.marian.firefox import FirefoxFormat

SEALED = ("npz", "gz", "lex")  # kinds of files with a checksum
ROUNDS = {"npz": 150, "gz": 150, "bin": 100, "lex": 100}  # damages of each kind


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder without its model, and the content of each file that may be damaged, by kind and name."""
    folder = tmp_path_factory.mktemp("whole")
    spm = marian.spm_model()
    size = marian.sentencepiece.SentencePieceProcessor(model_proto=spm).get_piece_size()
    config = marian.config_of((size, size), "rnn")
    tensors = marian.tensors_of(config)
    (folder / "vocab.spm").write_bytes(spm)
    marian.write_npz(folder / "model.npz", config, tensors)
    marian.write_bin(folder / "model.bin", config, tensors, int8=True)
    marian.write_lex(folder / "lex.bin", [[0, 5]] * size)
    contents = {kind: (name, (folder / name).read_bytes()) for kind, name in
                (("npz", "model.npz"), ("bin", "model.bin"), ("lex", "lex.bin"))}  # fmt: skip
    contents["gz"] = "model.bin.gz", gzip.compress(contents["bin"][1])
    for name, _ in contents.values():
        (folder / name).unlink(missing_ok=True)
    return folder, contents


def damaged(content, draws):
    """Cut short, a bit changed, or some bytes lost."""
    place = draws.randrange(len(content))
    match draws.randrange(3):
        case 0:
            return content[:place]
        case 1:
            return content[:place] + bytes([content[place] ^ 1 << draws.randrange(8)]) + content[place + 1 :]
    return content[:place] + content[place + draws.randrange(1, 20) :]


def read(folder):
    found = FirefoxFormat().read(folder, ReadOptions())
    return {**{name: value.numpy() for name, value in found.weights.items()}, "shortlist": dict(found.files)}


def same(one, other):
    return one.keys() == other.keys() and all(
        np.array_equal(one[name], other[name]) for name in one if name != "shortlist"
    )


@pytest.mark.parametrize("kind", ROUNDS)
def test_no_damage_ends_in_a_traceback_and_none_is_silent_under_a_checksum(kind, whole):
    folder, contents = whole
    others = {"lex": "bin", "bin": "lex"}.get(kind)
    for name, content in [contents[others]] if others else []:
        (folder / name).write_bytes(content)
    name, content = contents[kind]
    (folder / name).write_bytes(content)
    wanted, draws, refused = read(folder), random.Random(kind), 0
    for _ in range(ROUNDS[kind]):
        (folder / name).write_bytes(damaged(content, draws))
        try:
            found = read(folder)
        except CheckpointError as error:
            assert name in str(error) and "\n" not in str(error)
            refused += 1
            continue
        if kind in SEALED:
            assert same(found, wanted) and found["shortlist"] == wanted["shortlist"]
    assert refused > ROUNDS[kind] / 2
    for file in folder.glob("*.*"):
        if file.name != "vocab.spm":
            file.unlink()
