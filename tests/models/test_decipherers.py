"""Decipherers: ranks by hand, another numbering of the cipher, keys by place, and generators that read once."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.data.columns import small_columns
from regard.data.columns.symbols import SymbolsColumn
from regard.errors import ConfigError
from regard.models import MODELS, ROUTE
from regard.models.decipherer import CIPHER, PLAIN
from regard.records import Batch, Sequences
from regard.registry import Choice
from regard.text.ciphers import CIPHERS

SIZES = [2, 4]


def columns(size: int):
    return {side: SymbolsColumn("characters", "abcdefgh"[:size]) for side in (CIPHER, PLAIN)}


def build(name: str, size: int, **settings):
    return MODELS.build(Choice(name, settings), columns(size)).eval().requires_grad_(False)


def batch_of(ciphers: list[list[int]], plains: list[list[int]]) -> Batch:
    """Symbols count from 0, ids from 1."""
    rows = {side: [[one + 1 for one in row] for row in rows] for side, rows in ((CIPHER, ciphers), (PLAIN, plains))}
    longest = max(len(row) for side in rows.values() for row in side)
    ids = {side: torch.tensor([row + [0] * (longest - len(row)) for row in found]) for side, found in rows.items()}
    return Batch({side: Sequences(one, one > 0) for side, one in ids.items()}, ROUTE, torch.arange(len(ciphers)), 1)


def texts(size: int, count: int, length: int, seed: int) -> list[list[int]]:
    """Texts in which symbol s is about twice as frequent as s + 1."""
    draws = torch.Generator().manual_seed(seed)
    found = torch.multinomial(0.5 ** torch.arange(size).double(), count * length, True, generator=draws)
    return found.view(count, length).tolist()


def found(model, batch: Batch) -> Tensor:
    return model.plain_probs(batch.sequences(CIPHER)).argmax(dim=-1)


def enciphered(plains: list[list[int]], size: int, **cipher) -> list[list[int]]:
    ((name, settings),) = cipher.items()
    built = CIPHERS.build(Choice(name, settings))
    return [built.encrypt(one, size) for one in plains]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("cipher", "period"), [("shift", 1), ("substitution", 1), ("vigenere", 3)])
def test_symbols_of_equal_ranks_belong_together(cipher, period, size):
    model, plains = build("frequency_analysis", size, period=period), texts(size, 30, 30, seed=1)
    model.fit([batch_of(enciphered(texts(size, 30, 30, seed=2), size, **{cipher: {}}), plains)])
    assert found(model, batch_of(enciphered(plains, size, **{cipher: {}}), plains)).tolist() == plains


def test_another_numbering_of_the_cipher_changes_nothing():
    """What symbols of the cipher are called does not matter, ties aside."""
    plains, ciphers, order = texts(4, 20, 20, seed=1), texts(4, 20, 20, seed=2), [2, 0, 3, 1]
    renamed = [[order[one] for one in row] for row in ciphers]
    answers = []
    for bank in (ciphers, renamed):
        model = build("frequency_analysis", 4)
        model.fit([batch_of(bank, plains)])
        answers.append(found(model, batch_of(bank, plains)))
    assert torch.equal(*answers)


def test_right_symbols_cost_nothing_and_padding_is_not_counted():
    plains = [[0, 0, 0, 1], [0, 1]]
    model = build("frequency_analysis", 2)
    batch = batch_of(enciphered(plains, 2, shift={"by": 1}), plains)
    model.fit([batch])
    assert model.nll(batch).tolist() == [[0.0] * 4] * 2
    assert model.counted(batch).sum(dim=1).tolist() == [4, 2]


@pytest.mark.parametrize("timing", [0, 4])
@pytest.mark.parametrize("size", SIZES)
def test_each_symbol_is_read_by_itself(size, timing):
    """The answer equals that of the generator to each vector with its timing, symbol by symbol."""
    model = build("cipher_gan", size, dim=5, filters=4, timing=timing).double()
    batch = batch_of(texts(size, 3, 6, seed=3), texts(size, 3, 6, seed=4))
    ids = batch.sequences(CIPHER).items
    vectors = torch.nn.functional.embedding(ids, model.table(CIPHER))
    timed = model.timed(torch.arange(6)).double().expand(3, -1, -1)
    wanted = model.generators[CIPHER](torch.cat([vectors, timed], dim=-1))
    assert_close(model.plain_probs(batch.sequences(CIPHER)), wanted)
    assert_close(wanted.sum(dim=-1), torch.ones(3, 6).double())


def test_padding_has_no_vector_that_learns():
    model = build("cipher_gan", 4, dim=5, filters=4).requires_grad_(True)
    table = model.table(PLAIN)
    assert table[0].tolist() == [0.0] * 5
    table.sum().backward()
    assert model.embeddings[PLAIN].grad.shape == (4, 5)


@pytest.mark.parametrize("name", ["cipher_gan", "frequency_analysis"])
def test_texts_without_symbols_are_refused(name):
    with pytest.raises(ConfigError, match="task=cipher"):
        MODELS.build(Choice(name), small_columns({"source": "text", "target": "text"}, shared=False))


def test_a_key_has_a_longest_length():
    assert build("frequency_analysis", 2, period=1_000).period == 1_000
    with pytest.raises(ConfigError, match="period"):
        build("frequency_analysis", 2, period=1_001)
