"""More pieces for a BPE vocabulary: merges by hand, and segmentation beside an independent simulation."""

from collections import Counter
from itertools import pairwise

import pytest

from regard.data import toy
from regard.text import subwords
from regard.text.subwords import BpeSampler, SubwordsRecipe, with_new_pieces
from regard.text.vocabulary import matched_ids, more_merges

OLD = [source for source, _ in toy.pairs("de", 200, 1)]
NEW = ["open the folder “Downloads”…", "close the folder “Documents”…", "the folder was deleted"] * 3


@pytest.fixture(scope="module")
def known():
    return SubwordsRecipe(size=330).train(OLD)


def test_merges_by_hand():
    words = {("a", "b", "c"): 3, ("a", "b"): 2, ("x", "c"): 4, ("…",): 2, ("½",): 1}
    assert more_merges(words, "abcx", 4, 16) == ["…", "ab", "xc", "abc"]
    assert more_merges(words, "abcx", 2, 16) == ["…", "ab"]
    assert more_merges(words, "abcx", 9, 2) == ["…", "ab", "xc"]  # no piece is longer
    assert more_merges({("a", "b"): 1}, "ab", 9, 16) == []  # once is not enough
    assert more_merges({("a", "<r>"): 5}, "a", 9, 16) == []  # a reserved piece is not merged


@pytest.mark.parametrize("count", [1, 12, 40])
def test_known_pieces_keep_their_ids(known, count):
    grown = with_new_pieces(known, NEW, count)
    assert len(known) < len(grown) <= len(known) + count
    assert grown.listed[: len(known)] == known.listed
    assert len({*grown.listed}) == len(grown)
    assert "“" in grown.listed[len(known) :] or count == 1


def test_segmentation_is_by_rank(known):
    """sentencepiece reads the appended pieces as the sampler, which is written out, does without dropout."""
    grown = with_new_pieces(known, NEW, 40)
    ids = {piece: number for number, piece in enumerate(grown.listed)}
    bytes_ = {byte: ids[f"<0x{byte:02X}>"] for byte in range(256)}
    plain = BpeSampler(ids, grown.mergeable, bytes_, 0.0)
    for text in [*NEW[:3], *OLD[:50], "½ of a folder", ""]:
        assert grown.encode(text) == (plain.cut("▁" + text.replace(" ", "▁"), 0) if text else [])
        assert grown.decode(grown.encode(text)) == text
    assert sum(map(len, map(grown.encode, NEW))) < sum(map(len, map(known.encode, NEW))) / 2


def test_parts_of_all_pieces_take_one_sampler(known, monkeypatch):
    made = []

    def counted(*words):
        made.append(BpeSampler(*words))
        return made[-1]

    monkeypatch.setattr(subwords, "BpeSampler", counted)
    grown = with_new_pieces(known, NEW, 40)
    new = grown.listed[len(known) :]
    assert len(new) > 10
    for piece in new:
        assert known.decode(known.parts(piece)) == piece.removeprefix("▁").replace("▁", " ")
    assert len(made) == 1


def test_new_pieces_are_merges_of_known_segmentations(known):
    """The first merge is the most frequent pair of neighbours, counted from the outside."""
    texts = ["folder holder"] * 4
    grown = with_new_pieces(known, texts, 1)
    pairs = Counter[str]()
    for text in texts:
        pieces = known.pieces(known.encode(text))
        pairs.update(a + b for a, b in pairwise(pieces) if not b.startswith("▁"))
    assert pairs[grown.listed[-1]] == max(pairs.values())


def test_parts_are_the_known_segmentation(known):
    grown = with_new_pieces(known, NEW, 40)
    for piece in grown.listed[len(known) :]:
        if piece.startswith("▁"):
            assert known.parts(piece) == known.encode(piece.removeprefix("▁").replace("▁", " "))
        assert "".join(known.pieces(known.parts(piece))) == piece or any(number < 260 for number in known.parts(piece))


def test_unigram_pieces_do_not_grow():
    assert with_new_pieces(SubwordsRecipe(size=330, kind="unigram").train(OLD), NEW, 5) is None


def test_matched_ids_by_hand():
    assert matched_ids(["a", "b", "c"], ["b", "a"]) == [[1], [0], []]
    assert matched_ids(["a", "ab"], ["b", "a", "a"], lambda piece: [9]) == [[1], [9]]
