"""The piece <mask>: where a text has it, and what is left of everything else."""

import pytest

from regard.registry import Choice
from regard.text import TOKENIZERS, Tokenizer, load_tokenizer, train_tokenizer
from regard.text.mask_piece import MaskedTokenizer

TEXTS = ["the dog, runs. a cat sleeps here now"] * 3
LOSSLESS = [name for name in TOKENIZERS if TOKENIZERS[name].lossless]


@pytest.fixture(params=LOSSLESS)
def inner(request: pytest.FixtureRequest) -> Tokenizer:
    return train_tokenizer(Choice(request.param), TEXTS)


def test_it_is_one_piece_more_and_no_other_text_has_it(inner, tmp_path):
    masked = MaskedTokenizer(inner)
    assert len(masked) == len(inner) + 1 and masked.mask == len(inner)
    text = "a dog sleeps, now"
    assert masked.encode(text) == inner.encode(text) == masked.encode_batch([text])[0]
    assert masked.decode(masked.encode(text)) == text
    masked.save(tmp_path)
    read = load_tokenizer(tmp_path)
    assert (read.mask, read.key(), len(read)) == (masked.mask, masked.key(), len(masked))
    assert read.key() != inner.key()


def test_a_tokenizer_without_it_is_read_as_before(inner, tmp_path):
    inner.save(tmp_path)
    assert load_tokenizer(tmp_path).mask is None


@pytest.mark.parametrize("name", ["words", "subwords"])
def test_a_mask_takes_the_place_of_a_word_with_its_space(name):
    masked = MaskedTokenizer(train_tokenizer(Choice(name), TEXTS * 30))
    whole, holes = masked.encode("the dog, runs"), masked.encode("the <mask>, runs")
    assert [one for one in holes if one != masked.mask] == masked.encode("the") + whole[-len(holes) + 2 :]
    assert holes.count(masked.mask) == 1
    assert masked.pieces(masked.encode("<mask><mask>")) == ["<mask>", "<mask>"]


def test_places_are_those_of_the_text_with_its_masks_written_out(inner):
    masked = MaskedTokenizer(inner)
    for text in ("the <mask>, runs", "<mask> dog<mask>", "a cat"):
        pieces, places = masked.pieces(masked.encode(text)), masked.offsets(text)
        assert len(pieces) == len(places)
        seen = [(piece.strip(" ▁"), text[slice(*place)]) for piece, place in zip(pieces, places, strict=True) if place]
        assert seen and all(piece == there for piece, there in seen)
        assert [there for _, there in seen].count("<mask>") == text.count("<mask>")
