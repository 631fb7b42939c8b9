"""ByteNet as a whole: what it costs by length, and that its answer ends by itself or at its limit."""

import pytest
import torch
from networks import build_translator
from torch.utils.flop_counter import FlopCounterMode

from regard.decoding import GreedySearch
from regard.models import ROUTE, AttentionSettings, Translator
from regard.records import EOS, Batch, Sequences
from regard.registry import Choice

VOCAB = 12
SMALL = {"hidden_dim": 8, "num_layers": 4, "dilations": (1, 2)}


def bytenet(**settings: object) -> Translator:
    settings = dict(
        dim=16,
        position=None,
        encoder=Choice("bytenet", {**SMALL, "ratio": 1.2, **settings}),
        decoder=Choice("bytenet", SMALL),
        attention=AttentionSettings(score=Choice("bilinear"), span=(Choice("same_position"),)),
        dropout=0.0,
    )
    return build_translator(settings, VOCAB, VOCAB).double().eval()


def pair(source: int, target: int) -> Batch:
    columns = {}
    for name, length in (("source", source), ("target", target)):
        ids = torch.randint(EOS + 2, VOCAB, (1, length))
        columns[name] = Sequences(ids, torch.ones_like(ids, dtype=torch.bool))
    return Batch(columns, ROUTE, torch.arange(1), target)


def multiplications(model: Translator, length: int) -> int:
    with FlopCounterMode(display=False) as counter:
        model.nll(pair(length, length))
    return counter.get_total_flops()


def test_four_times_the_characters_are_four_times_the_work():
    model = bytenet()
    assert multiplications(model, 4000) / multiplications(model, 1000) == pytest.approx(4, rel=0.01)


@pytest.mark.parametrize("ratio", [1.0, 1.5])
@pytest.mark.parametrize(("source", "target"), [(3, 9), (9, 3), (1, 1)])
def test_source_and_target_may_be_of_any_lengths(ratio, source, target):
    losses = bytenet(ratio=ratio).nll(pair(source, target))
    assert losses.shape == (1, target)
    assert bool(losses.isfinite().all())


def test_an_answer_ends_with_its_end_symbol_or_at_twice_the_source_and_fifty():
    model = bytenet()
    search = GreedySearch(max_ratio=2.0, max_extra=50)
    table = model.heads[ROUTE].weight.data
    for likes_to_end in (False, True):
        table[EOS] = 100.0 if likes_to_end else -100.0  # states are not negative
        ((best,),) = search.run(model, pair(4, 1))
        assert best.finished is likes_to_end
        assert len(best.ids) == (0 if likes_to_end else 2 * 4 + 50 - 1)
