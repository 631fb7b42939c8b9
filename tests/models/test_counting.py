"""Embedders that count are shown an epoch of what they will read, and the others are not waited for."""

from collections.abc import Iterator

import pytest
import torch
from networks import build_translator

from regard.data.streams import StreamPlace
from regard.models import ROUTE
from regard.records import BOS, EOS, Batch, Sequences
from regard.registry import Choice
from regard.runs.stages import _Tally, count_for_embedders

VOCAB = 9
SMALL = {"num_layers": 1, "feedforward_dim": 4}


class Stream:
    """Two epochs of two batches; `given` counts them."""

    def __init__(self) -> None:
        self.given = 0

    def stream(self) -> Iterator[tuple[StreamPlace, Batch]]:
        for number in range(4):
            self.given += 1
            words = torch.tensor([[4 + number, 5, EOS]])
            columns = {
                name: Sequences(words, torch.ones_like(words, dtype=torch.bool)) for name in ("source", "target")
            }
            yield {"epoch": (number + 1) // 2}, Batch(columns, ROUTE, torch.arange(1), 3)


def model(embedder: str, tied: str):
    given = {"order": 2, "rows": 50} if embedder == "character_ngrams" else {}
    blocks = Choice("transformer", SMALL)
    settings = dict(dim=8, embedder=Choice(embedder, given), encoder=blocks, decoder=blocks, tied=tied)
    return build_translator(settings, VOCAB, VOCAB)


def known(embedder) -> set[tuple[int, int]]:
    codes = embedder.codes[0][embedder.codes[0] < VOCAB**2]
    return {(int(code) // VOCAB, int(code) % VOCAB) for code in codes}


READ = {(0, 4), (4, 5), (5, EOS), (0, 5), (5, 5)}  # of the source
WRITTEN = {(0, BOS), (BOS, 4), (4, 5), (BOS, 5), (5, 5)}  # EOS is not read again


def test_each_side_learns_what_it_will_read_in_an_epoch():
    translator, batches = model("character_ngrams", "target"), Stream()
    count_for_embedders(translator, batches)
    assert known(translator.encoders[ROUTE].embedder) == READ
    assert known(translator.decoders[ROUTE].embedder) == WRITTEN
    assert batches.given == 2


def test_one_embedder_of_both_sides_learns_both():
    translator = model("character_ngrams", "all")
    count_for_embedders(translator, Stream())
    assert known(translator.decoders[ROUTE].embedder) == READ | WRITTEN


@pytest.mark.parametrize("waiting", [1, 7, 1000])
def test_counts_do_not_depend_on_how_many_numbers_wait(waiting, monkeypatch):
    monkeypatch.setattr("regard.runs.stages.WAITING", waiting)
    tally, numbers = _Tally(), torch.randint(5, (60,))
    for some in numbers.split(11):
        tally.add(some)
    found, often = tally.counts()
    assert [(int(one), int(count)) for one, count in zip(found, often, strict=True)] == [
        (one, int((numbers == one).sum())) for one in range(5)
    ]


def test_where_none_counts_one_batch_is_looked_at():
    batches = Stream()
    count_for_embedders(model("words", "all"), batches)
    assert batches.given == 1
