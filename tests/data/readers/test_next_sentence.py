"""Pairs of sentences: which are true, which are drawn, and what is refused."""

from collections import Counter
from pathlib import Path

import pytest

from regard.data.readers.next_sentence import NEXT, OTHER, NextSentenceReader
from regard.errors import DataError, PartError

COLUMNS = ("first", "second", "label")
SIZES = [7, 12, 5, 9, 20, 2] * 20
DOCUMENTS = [[f"{number} {place}" for place in range(size)] for number, size in enumerate(SIZES)]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """The same documents parted by empty lines, and with an index."""
    (tmp_path / "parted").write_text("\n\n".join("\n".join(one) for one in DOCUMENTS))
    (tmp_path / "lines").write_text("\n".join("\n".join(one) for one in DOCUMENTS))
    starts = [1 + sum(SIZES[:number]) for number in range(len(SIZES))]
    rows = [f"{number}\tx\t{start}\t{size}\n" for number, (start, size) in enumerate(zip(starts, SIZES, strict=True))]
    (tmp_path / "index").write_text("".join(rows))
    return {name: str(tmp_path / name) for name in ("parted", "lines", "index")}


def pairs(**settings: object) -> list[tuple[str, str, str]]:
    return [tuple(one.texts[name] for name in COLUMNS) for one in NextSentenceReader(COLUMNS, **settings)]


def test_about_half_follow_and_none_of_the_others_does(files, assert_agrees):
    found = pairs(file=files["parted"], rounds=5)
    trained = [number for number in range(len(SIZES)) if number % 10 not in (8, 9)]
    assert len(found) == 5 * sum(SIZES[number] - 1 for number in trained)
    for first, second, label in found:
        (document, place), (other, after) = (map(int, one.split()) for one in (first, second))
        assert document in trained and other in trained
        assert (label == NEXT) == (document == other)
        assert label == OTHER or after == place + 1
    follow = sum(label == NEXT for *_, label in found)
    assert abs(follow - len(found) / 2) <= 3 * (len(found) / 4) ** 0.5


def test_a_second_sentence_by_itself_tells_nothing(files):
    """Those that do not follow are no first ones either, and as often of long documents as those that do."""
    drawn = [second.split() for _, second, label in pairs(file=files["parted"], rounds=40) if label == OTHER]
    assert all(int(place) > 0 for _, place in drawn)
    counts = Counter(SIZES[int(document)] for document, _ in drawn)
    for size in set(SIZES):
        share = (size - 1) / sum(one - 1 for one in set(SIZES))  # each size has as many documents
        assert abs(counts[size] / len(drawn) - share) <= 4 * (share / len(drawn)) ** 0.5


def test_an_index_gives_the_same_documents_and_parts(files):
    for part in ("train", "dev", "test"):
        parted, indexed = (
            pairs(file=files["parted"], part=part),
            pairs(file=files["lines"], index=files["index"], part=part),
        )
        assert [first for first, *_ in parted] == [first for first, *_ in indexed]
    whole = {first for part in ("train", "dev", "test") for first, *_ in pairs(file=files["parted"], part=part)}
    assert whole == {one for document in DOCUMENTS for one in document[:-1]}


def test_draws_depend_on_seed_and_round(files):
    one, again, other = (pairs(file=files["parted"], seed=seed) for seed in (1, 1, 2))
    assert one == again != other
    twice = pairs(file=files["parted"], rounds=2)
    assert twice[: len(one)] == one != twice[len(one) :]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a\nb\n\nc\n\nd\ne\n", r":4: a document of one sentence.*join it"),
        ("a\nb\n", r"there is one document in the train set"),
        ("\n\n", r"there is no document in the train set"),
    ],
)
def test_what_has_no_next_sentence_is_refused_in_a_line(text, told, tmp_path):
    (tmp_path / "text").write_text(text)
    with pytest.raises(DataError, match=told):
        pairs(file=str(tmp_path / "text"))


def test_it_makes_two_texts_and_a_label(tmp_path):
    with pytest.raises(PartError, match="two texts and a label"):
        NextSentenceReader(("text",), file=str(tmp_path / "text"))


def test_spans_of_sentences_cover_a_document(files):
    """The second of a true pair begins where the first ends; short documents are cut in two."""
    found, starts = pairs(file=files["parted"], sentences=4, rounds=6), set()
    for first, second, label in found:
        (number, *_), lines = first.split(), [[int(one) for one in text.split()[1::2]] for text in (first, second)]
        assert all(line == list(range(line[0], line[-1] + 1)) and len(line) <= 4 for line in lines)
        assert (label == NEXT) == (second.split()[0] == number)
        assert label == OTHER or lines[1][0] == lines[0][-1] + 1
        if lines[0][0] == 0:
            starts.add((SIZES[int(number)], len(lines[0])))
    assert starts == {(size, length) for size in set(SIZES) for length in range(1, min(4, size // 2) + 1)}
    assert pairs(file=files["parted"], sentences=4, rounds=6) == found
