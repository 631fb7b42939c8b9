"""Every tokenizer gives back what it got, whatever that was."""

import random
import re
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from processor_time import within

from regard.errors import CheckpointError, ConfigError, DataError, RegardError
from regard.pieces import BOS, EOS, PAD, UNK
from regard.registry import Choice
from regard.text import TOKENIZERS, Tokenizer, clean, load_tokenizer, subwords, train_tokenizer

TEXTS = [
    "The old man gives the child two red apples.",
    "Der alte Mann gibt dem Kind zwei rote Äpfel.",
    "老人给孩子两个红苹果。",
    "She didn't know whether it was 21 or 22.",
] * 20

KINDS = [
    Choice("words"),
    Choice("words", {"size": 270}),
    Choice("characters"),
    Choice("subwords", {"size": 400}),
    Choice("subwords", {"size": 400, "sampling": 0.3}),
    Choice("subwords", {"size": 380, "kind": "unigram", "sampling": 0.3}),
]

LOSSLESS = {name for name in TOKENIZERS if TOKENIZERS[name].lossless}
LEARNT = [name for name in TOKENIZERS if "file" not in TOKENIZERS.settings(name)]

NASTY = [
    "", " ", "  two  spaces  ", "\n", "a\r\nb\tc", "\0", "a\0b", "<s>", "</s><unk><pad>", "<0x41>", "\u2581",
    "\u2581a \u2581", "\ue0fe", "\ue0fe0\ue0fe1", "\u202eevil\u202c", "\u2028", "\x85", "e\u0301", "\ud800",
    "a\udfffb", "𠀀😀", "\ufeffx",
]  # fmt: skip


@cache
def trained(place: int) -> Tokenizer:
    return train_tokenizer(KINDS[place], TEXTS)


@pytest.fixture(params=range(len(KINDS)), ids=lambda place: f"{KINDS[place].name}-{place}")
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return trained(request.param)


def test_every_row_of_the_table_is_tried():
    assert {kind.name for kind in KINDS} == LOSSLESS


@pytest.mark.parametrize("name", LEARNT)
def test_a_recipe_tells_whether_its_tokenizers_keep_all_of_a_text(name):
    size = {"size": 400} if "size" in TOKENIZERS.settings(name) else {}
    tokenizer = train_tokenizer(Choice(name, size), TEXTS)
    assert TOKENIZERS[name].lossless == tokenizer.lossless
    assert tokenizer.lossless == all(tokenizer.decode(tokenizer.encode(text)) == text for text in TEXTS)


@given(st.text(st.characters(codec=None)))
@example("\ud83d\ude00")
def test_decoding_gives_back_the_clean_text(text):
    for place in range(len(KINDS)):
        tokenizer = trained(place)
        assert tokenizer.decode(tokenizer.encode(text)) == clean(text)
        assert tokenizer.decode(tokenizer.sample(text, 3)) == clean(text)


@pytest.mark.parametrize("text", NASTY, ids=ascii)
def test_nasty_texts_come_back(tokenizer, text):
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == clean(text)
    assert tokenizer.decode(tokenizer.sample(text, 1)) == clean(text)
    assert not {PAD, BOS, EOS, UNK} & set(ids)


@pytest.mark.parametrize("text", ["x" * 100_000, "e\u0301" * 5_000, "\u0301" * 10_000, "known words " * 8_000])
def test_huge_words_take_less_than_a_second(tokenizer, text):
    ids = within(1.0, lambda: tokenizer.encode(text))
    assert tokenizer.decode(ids) == clean(text)


@given(st.text(st.characters(codec=None)))
def test_cleaning_twice_changes_nothing_more(text):
    once = clean(text)
    assert clean(once) == once
    once.encode()  # no lone surrogate is left


@given(st.lists(st.integers(-5, 700)))
def test_any_ids_decode(ids):
    for place in range(len(KINDS)):
        trained(place).decode(ids).encode()
        assert len(trained(place).pieces(ids)) == len(ids)


def test_a_saved_tokenizer_is_the_same(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "saved")
    again = load_tokenizer(tmp_path / "saved")
    assert again.key() == tokenizer.key() and len(again) == len(tokenizer)
    assert [again.encode(text) for text in TEXTS] == [tokenizer.encode(text) for text in TEXTS]
    assert again.sample(TEXTS[0], 5) == tokenizer.sample(TEXTS[0], 5)


def test_training_twice_gives_the_same(tokenizer):
    place = next(place for place in range(len(KINDS)) if trained(place) is tokenizer)
    assert train_tokenizer(KINDS[place], TEXTS).key() == tokenizer.key()


def test_batches_encode_as_single_texts(tokenizer):
    texts = TEXTS[:4] + NASTY
    assert tokenizer.encode_batch(texts) == [tokenizer.encode(text) for text in texts]


def test_subwords_of_text_larger_than_memory_are_learnt_from_a_part_of_it(monkeypatch):
    """Every sentence has the same chance, and the part is the same each time."""
    monkeypatch.setattr(subwords, "MAX_SENTENCES", 100)
    numbers = [int(text) for text in subwords._drawn(str(number) for number in range(10_000))]
    assert numbers == [int(text) for text in subwords._drawn(str(number) for number in range(10_000))]
    assert len(set(numbers)) == 100
    assert 4_000 < sum(numbers) / 100 < 6_000
    assert subwords._drawn(iter("abc")) == ["a", "b", "c"]


def test_keys_tell_tokenizers_apart():
    assert len({trained(place).key() for place in range(len(KINDS))}) == len(KINDS)


@pytest.mark.parametrize("place", [4, 5])
def test_samples_follow_the_seed_alone(place):
    tokenizer = trained(place)
    assert tokenizer.samples
    wanted = [tokenizer.sample(TEXTS[0], seed) for seed in range(50)]
    assert len({tuple(ids) for ids in wanted}) > 10
    with ThreadPoolExecutor(2) as pool:
        random.seed(0)  # nobody else's draws matter
        assert list(pool.map(lambda seed: tokenizer.sample(TEXTS[0], seed), range(50))) == wanted


def test_bpe_sampling_without_dropout_is_the_best_cutting():
    tokenizer = trained(3)
    sampler = tokenizer._make_sampler(0.0)
    for text in TEXTS[:4]:
        assert sampler.cut("\u2581" + text.replace(" ", "\u2581"), 1) == tokenizer.encode(text)


def test_unigram_draws_follow_their_probabilities():
    """p(cutting) ∝ product of piece probabilities to the power of the strength, by enumeration."""
    sampler = trained(5)._make_sampler(0.5)
    sampler.scores = {"a": -1.0, "b": -2.0, "ab": -2.5}
    sampler.strength = 0.5
    ways = {("a", "b"): 2.718281828 ** (0.5 * -3.0), ("ab",): 2.718281828 ** (0.5 * -2.5)}
    draws = random.Random(0)
    found = [tuple(sampler.pieces("ab", draws)) for _ in range(20_000)]
    assert found.count(("ab",)) / 20_000 == pytest.approx(ways["ab",] / sum(ways.values()), abs=0.02)


def test_a_size_beyond_the_text_becomes_the_largest_there_is():
    tokenizer = train_tokenizer(Choice("subwords", {"size": 20_000}), TEXTS)
    assert 260 < len(tokenizer) < 2_000
    assert tokenizer.decode(tokenizer.encode(TEXTS[2])) == TEXTS[2]


@pytest.mark.parametrize("name", LEARNT)
def test_nothing_to_learn_from_is_told(name):
    with pytest.raises(DataError, match="training text"):
        train_tokenizer(Choice(name), [])


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("rare", [0, 1])
def test_the_least_size_of_subwords_is_told_and_is_enough(kind, rare):
    """Also where the rarest character has no piece in the size that is given, and one in a larger."""
    letters = [chr(0x4E00 + number) for number in range(77)]
    texts = ["".join(letters[shift:] + letters[:shift]) for shift in range(77)] + ["x"] * rare
    with pytest.raises(ConfigError, match=r"^text\.tokenizer\.size: is 300, but this text needs \d+ at least") as told:
        train_tokenizer(Choice("subwords", {"size": 300, "kind": kind}), texts)
    least = int(re.search(r"needs (\d+)", str(told.value))[1])
    assert len(train_tokenizer(Choice("subwords", {"size": least, "kind": kind}), texts)) == least
    with pytest.raises(ConfigError):
        train_tokenizer(Choice("subwords", {"size": least - 1 - rare, "kind": kind}), texts)


@pytest.mark.parametrize("name", ["words", "characters"])
def test_the_least_size_of_what_is_counted_is_told_and_is_enough(name):
    with pytest.raises(ConfigError, match=r"text\.tokenizer\.size: is 100, but 261 are needed at least"):
        train_tokenizer(Choice(name, {"size": 100}), TEXTS)
    assert len(train_tokenizer(Choice(name, {"size": 261}), TEXTS)) == 261


def test_a_count_that_nothing_reaches_is_told():
    with pytest.raises(ConfigError, match=r"text\.tokenizer\.min_count: is 9, but of the words .* more than 2 times"):
        train_tokenizer(Choice("words", {"min_count": 9}), ["a dog", "a cat"])


@pytest.mark.parametrize("file", ["kind", "subwords.model", "sampling"])
def test_a_damaged_folder_is_told(tmp_path: Path, file):
    trained(3).save(tmp_path)
    (tmp_path / file).write_bytes(b"\xff\xfe")
    with pytest.raises(CheckpointError, match=str(tmp_path)):
        load_tokenizer(tmp_path)


def test_words_keep_their_space_and_cjk_stands_alone():
    tokenizer = trained(0)
    assert tokenizer.pieces(tokenizer.encode("The old man")) == [" The", " old", " man"]
    assert tokenizer.pieces(tokenizer.encode("老人")) == [" 老", "人"]


def test_of_one_huge_text_the_first_characters_are_learnt_from(monkeypatch):
    monkeypatch.setattr(subwords, "MAX_CHARACTERS", 1000)
    text = "abcd " * 200 + "wxyz " * 20_000
    tokenizer = train_tokenizer(Choice("subwords", {"size": 290}), [text])
    assert "▁abcd" in tokenizer.pieces(tokenizer.encode("abcd"))
    assert "▁wxyz" not in tokenizer.pieces(tokenizer.encode("wxyz"))
    assert tokenizer.decode(tokenizer.encode("wxyz")) == "wxyz"


def test_several_threads_cut_as_one(monkeypatch):
    texts = [f"text {number} Ünïcödé ▁\0" for number in range(100)]
    tokenizer = train_tokenizer(Choice("subwords", {"size": 300}), texts)
    alone = [tokenizer.encode(text) for text in texts]
    monkeypatch.setattr(subwords, "MANY", 1)
    assert tokenizer.encode_batch(texts) == alone


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_reserved_words_are_one_piece_each(kind):
    settings = {"size": 400, "kind": kind, "sampling": 0.5, "reserved": ["<bt>", "<unk>"]}
    made = train_tokenizer(Choice("subwords", settings), TEXTS)
    for cut in (made.encode, lambda text: made.sample(text, 1)):
        pieces = made.pieces(cut("<bt> a <unk> a<bt>"))
        assert pieces[0] == "▁<bt>" and pieces.count("▁<unk>") == 1 and pieces.count("▁<bt>") == 1
    assert made.decode(made.encode("<bt> a<bt>")) == "<bt> a<bt>"


@pytest.mark.parametrize("words", [["two words"], [""], ["<bt>", "<bt>"]])
def test_reserved_words_that_cannot_be_are_refused(words):
    with pytest.raises(RegardError, match="reserved"):
        train_tokenizer(Choice("subwords", {"size": 400, "reserved": words}), TEXTS)
