"""Masking by its counts, and by what it may depend on."""

import numpy as np
import pytest
import torch

from regard.data.transforms import LineSeeds
from regard.data.transforms.masking import MASKED_PIECES, Masking, WordBorders
from regard.records import BOS, EOS, PAD, UNK, Batch, Sequences

VOCAB, MASK = 50, 49
LENGTH, ROWS = 40, 500


def batch_of(items: torch.Tensor, lines: list[int]) -> Batch:
    mask = items != PAD
    return Batch({"text": Sequences(items, mask)}, "", torch.tensor(lines), int(mask.sum()))


def texts() -> torch.Tensor:
    """<s>, pieces of which some are not known, </s>."""
    items = torch.randint(4, MASK, (ROWS, LENGTH), generator=torch.Generator().manual_seed(0))
    items[:, 0], items[:, -1], items[:, 7] = BOS, EOS, UNK
    return items


def masking(**changes: object) -> Masking:
    return Masking("text", MASK, **{"probability": 0.15, "masked": 0.8, "random": 0.1, **changes})


def within_three_deviations(found: int, count: int, share: float) -> bool:
    return abs(found - count * share) <= 3 * (count * share * (1 - share)) ** 0.5


def test_shares_are_within_three_standard_deviations():
    items = texts()
    made = masking()(batch_of(items, [*range(ROWS)]), LineSeeds(1, 0, 0))
    answers, read = made.columns[MASKED_PIECES], made.sequences("text").items
    chosen = answers != PAD
    assert torch.equal(answers[chosen], items[chosen])
    assert torch.equal(read[~chosen], items[~chosen])
    count, pieces = int(chosen.sum()), ROWS * (LENGTH - 3)
    assert made.count == count and made.read == ROWS * LENGTH
    assert within_three_deviations(count, pieces, 0.15)
    kept, masked = int((read[chosen] == items[chosen]).sum()), int((read[chosen] == MASK).sum())
    drawn = 0.1 / (MASK - 4)  # a random piece that is the same one
    assert within_three_deviations(masked, count, 0.8)
    assert within_three_deviations(kept, count, 0.1 + drawn)


def test_specials_and_padding_are_never_masked_or_put_in():
    items = texts()
    items[:, 30:] = PAD
    made = masking(probability=1.0, masked=0.0, random=1.0)(batch_of(items, [*range(ROWS)]), LineSeeds(1, 0, 0))
    special = items < 4
    assert torch.equal(made.sequences("text").items[special], items[special])
    assert bool((made.columns[MASKED_PIECES][special] == PAD).all())
    others = made.sequences("text").items[~special]
    assert int(others.min()) >= 4 and int(others.max()) < MASK


def test_a_draw_depends_on_seed_epoch_and_line_alone():
    items = texts()
    whole = masking()(batch_of(items, [*range(ROWS)]), LineSeeds(1, 0, 3))
    wider = torch.cat([items[[9, 4]], torch.zeros(2, 5, dtype=torch.long)], dim=1)
    again = masking()(batch_of(wider, [9, 4]), LineSeeds(1, 0, 3))
    assert torch.equal(again.columns[MASKED_PIECES][:, :LENGTH], whole.columns[MASKED_PIECES][[9, 4]])
    assert torch.equal(again.sequences("text").items[:, :LENGTH], whole.sequences("text").items[[9, 4]])
    for other in (LineSeeds(2, 0, 3), LineSeeds(1, 0, 4)):
        assert not torch.equal(
            masking()(batch_of(items, [*range(ROWS)]), other).columns[MASKED_PIECES], whole.columns[MASKED_PIECES]
        )


def test_at_least_one_piece_is_masked_where_there_is_one():
    items = torch.tensor([[BOS, 7, 8, EOS], [BOS, 9, EOS, PAD], [BOS, EOS, PAD, PAD]])
    made = masking(probability=0.0)(batch_of(items, [0, 1, 2]), LineSeeds(1, 0, 0))
    assert (made.columns[MASKED_PIECES] != PAD).sum(dim=1).tolist() == [1, 1, 0]
    assert made.count == 2


@pytest.mark.parametrize("epoch", range(20))
def test_pieces_of_a_word_are_masked_together(epoch):
    begins = np.arange(VOCAB) % 2 == 0  # even ids begin a word
    items = torch.tensor([[BOS, 10, 11, 13, 12, 14, 15, EOS]])
    made = masking(probability=0.4, words=WordBorders(begins, begins & False))(
        batch_of(items, [0]), LineSeeds(1, 0, epoch)
    )
    chosen = (made.columns[MASKED_PIECES] != PAD)[0].tolist()
    assert chosen[1] == chosen[2] == chosen[3] and chosen[5] == chosen[6] and not (chosen[0] or chosen[7])


@pytest.mark.parametrize("epoch", range(20))
def test_what_stands_behind_the_end_of_a_word_is_another_one(epoch):
    ids = np.arange(VOCAB)
    words = WordBorders(ids == 10, ids == 11)  # 10 11 | 12 13
    items = torch.tensor([[10, 11, 12, 13, EOS]])
    made = masking(probability=0.5, words=words)(batch_of(items, [0]), LineSeeds(1, 0, epoch))
    chosen = (made.columns[MASKED_PIECES] != PAD)[0].tolist()
    assert chosen[0] == chosen[1] and chosen[2] == chosen[3]


def test_words_divided_by_an_end_are_drawn_apart():
    ids = np.arange(VOCAB)
    one_word, two = (masking(probability=0.5, words=WordBorders(ids == 10, ends)) for ends in (ids < 0, ids == 11))
    batch = batch_of(torch.tensor([[10, 11, 12, 13, EOS]] * 200), list(range(200)))
    parts = [(found(batch, LineSeeds(1, 0, 0)).columns[MASKED_PIECES] != PAD)[:, [0, 2]] for found in (one_word, two)]
    assert (parts[0][:, 0] == parts[0][:, 1]).all()
    assert 120 < (parts[1][:, 0] != parts[1][:, 1]).sum() < 175  # 3 in 4: one, the other, or the one that is needed
