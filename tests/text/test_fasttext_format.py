"""Models of fastText: vectors equal means by hand over rows that a file written here byte by byte holds."""

import gzip
import struct

import numpy as np
import pytest

from regard.errors import DataError
from regard.text.vector_files import read_vectors

WORDS, BUCKETS, DIM = ["</s>", "ab", "Straße"], 7, 3
MATRIX = np.random.default_rng(1).normal(size=(len(WORDS) + BUCKETS, DIM)).astype("<f4")


def model(*, version=12, quantised=False, rows=10, pruned=(), labels=("__label__x",), kept=-1) -> bytes:
    """The layout of fastText's save: settings, dictionary, matrix."""
    settings = struct.pack("<12id", DIM, 5, 1, 1, 5, 1, 1, 2, BUCKETS, 2, 3, 100, 1e-4)
    entries = b"".join(word.encode() + b"\0" + struct.pack("<qb", 1, word in labels) for word in [*WORDS, *labels])
    sizes = struct.pack("<iiiqq", len(WORDS) + len(labels), len(WORDS), len(labels), 100, kept)
    pairs = b"".join(struct.pack("<ii", *pair) for pair in pruned)
    matrix = struct.pack("<?qq", quantised, rows, DIM) + MATRIX.tobytes()
    return struct.pack("<ii", 793712314, version) + settings + sizes + entries + pairs + matrix + b"rest"


def bucket(ngram: str) -> int:
    """FNV-1a by its definition; fastText widens each byte as a signed one."""
    code = np.uint32(2166136261)
    with np.errstate(over="ignore"):
        for byte in np.frombuffer(ngram.encode(), np.int8):
            code = (code ^ byte.astype(np.uint32)) * np.uint32(16777619)
    return int(code) % BUCKETS


def mean(ngrams: list[str], *words: str) -> np.ndarray:
    rows = [WORDS.index(word) for word in words] + [len(WORDS) + bucket(one) for one in ngrams]
    return MATRIX[rows].mean(axis=0)


@pytest.mark.parametrize("ending", ["bin", "bin.gz"])
def test_a_vector_is_the_mean_of_a_word_and_its_ngrams(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    path.write_bytes(gzip.compress(model()) if ending.endswith("gz") else model())
    found = read_vectors(path)
    assert found.words == WORDS  # labels have no vectors
    np.testing.assert_allclose(found.vector("</s>"), MATRIX[0])
    np.testing.assert_allclose(found.vector("ab"), mean(["<a", "<ab", "ab", "ab>", "b>"], "ab"), rtol=1e-6)
    spelt = ["<S", "<St", "St", "Str", "tr", "tra", "ra", "raß", "aß", "aße", "ße", "ße>", "e>"]
    np.testing.assert_allclose(found.vector("Straße"), mean(spelt, "Straße"), rtol=1e-5)


def test_ngrams_spell_wanted_words_that_are_not_there_in_either_case(tmp_path):
    (tmp_path / "a.bin").write_bytes(model())
    found = read_vectors(tmp_path / "a.bin", {"AB", "ab", "cö"})
    assert set(found.words) == {"ab", "cö"}
    np.testing.assert_allclose(found.vector("cö"), mean(["<c", "<cö", "cö", "cö>", "ö>"]), rtol=1e-6)


def test_a_pruned_model_has_some_buckets_alone(tmp_path):
    pruned = [(bucket("<c"), 4)]
    (tmp_path / "a.bin").write_bytes(model(pruned=pruned, kept=1))
    rows = [len(WORDS) + 4 for one in ("<c", "cö", "ö>", "<cö", "cö>") if bucket(one) == bucket("<c")]
    np.testing.assert_allclose(read_vectors(tmp_path / "a.bin", {"cö"}).vector("cö"), MATRIX[rows].mean(axis=0))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (model()[:30], "ends within a model of fastText"),
        (model()[:-20], "ends within its 10 vectors"),
        (model(version=13), "fastText's format 13"),
        (model(quantised=True), "quantised"),
        (model(rows=2), "has a matrix of 2 × 3"),
        (model(rows=2**40), "has a matrix of"),
        (model(kept=2**40), "says that it has"),
        (model()[:-8] + struct.pack("<f", float("nan")) + b"rest", "'.*' has a number that is infinite or none"),
    ],
)
def test_damaged_models_are_refused_in_one_line(tmp_path, data, why):
    (tmp_path / "a.bin").write_bytes(data)
    with pytest.raises(DataError, match=why) as found:
        read_vectors(tmp_path / "a.bin")
    assert "\n" not in str(found.value)
