"""Small recurrent translators with attention that knows its past copy letters they have not seen in that order."""

from collections.abc import Callable

import pytest
import torch
from networks import build_translator
from torch import Tensor

from regard.models import ROUTE, AttentionSettings, Translator
from regard.records import BOS, EOS, PAD, Batch, Sequences
from regard.registry import Choice

LETTERS, LONGEST, DIM = 10, 8, 48
FIRST = 4  # ids of letters; flagged ones stand behind all others
VOCAB = FIRST + 2 * LETTERS
UPDATES, WARMUP, ROWS, HELD = 800, 50, 128, 500

pytestmark = pytest.mark.usefixtures("learning_seed")

Rows = Callable[[list[int]], tuple[list[int], list[int]]]  # letters → source and target


def identity(letters: list[int]) -> tuple[list[int], list[int]]:
    return letters, letters


def flagged(letters: list[int]) -> tuple[list[int], list[int]]:
    """Half of the letters carry a flag, and these alone are to be written, without it."""
    flags = torch.randint(2, (len(letters),)).tolist()
    source = [letter + LETTERS * flag for letter, flag in zip(letters, flags, strict=True)]
    return source, [letter for letter, flag in zip(letters, flags, strict=True) if flag]


def drawn(count: int, task: Rows) -> Batch:
    pairs = []
    for length in torch.randint(2, LONGEST + 1, (count,)).tolist():
        pairs.append(task(torch.randint(FIRST, FIRST + LETTERS, (length,)).tolist()))
    source, target = (padded([pair[side] + [EOS] for pair in pairs]) for side in (0, 1))
    return Batch({"source": source, "target": target}, ROUTE, torch.arange(count), int(target.mask.sum()))


def padded(rows: list[list[int]]) -> Sequences:
    longest = max(map(len, rows))
    items = torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])
    return Sequences(items, items != PAD)


def trained(attention: AttentionSettings, task: Rows, head: str = "linear", **decoder: object) -> Translator:
    settings = dict(
        dim=DIM,
        position=None,
        encoder=Choice("recurrent", {"hidden_dim": DIM}),
        decoder=Choice("recurrent", {"hidden_dim": DIM, **decoder}),
        attention=attention,
        self_attention=AttentionSettings(score=Choice("bilinear")),
        head=Choice(head),
        dropout=0.0,
    )
    model = build_translator(settings, VOCAB, VOCAB)
    optimizer = torch.optim.Adam(model.parameters())
    for update in range(UPDATES):
        batch = drawn(ROWS, task)
        optimizer.zero_grad()
        (model.nll(batch).sum() / batch.count).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.param_groups[0]["lr"] = 0.01 * min(1.0, (update + 1) / WARMUP) * (1 - update / UPDATES)
        optimizer.step()
    return model.eval()


@torch.no_grad()
def share_written_right(model: Translator, task: Rows) -> float:
    """Of the sentences, greedily, EOS included."""
    batch = drawn(HELD, task)
    wanted, state, ids = batch.sequences("target").items, model.start(batch), torch.full((HELD, 1), BOS)
    written: list[Tensor] = []
    for _ in range(wanted.shape[1]):
        step, state = model.step(ids, state)
        ids = step.log_probs.argmax(dim=-1, keepdim=True)
        written.append(ids)
    right = (torch.cat(written, dim=1) == wanted) | (wanted == PAD)
    return right.all(dim=1).double().mean().item()


@pytest.mark.slow  # 20 seconds each
@pytest.mark.parametrize("mode", ["soft", "hard"])
def test_attention_forced_forward_copies_everything(mode):
    span = Choice("forced_forward", {"mode": mode})
    attention = AttentionSettings(score=Choice("additive", {"hidden_dim": DIM}), span=(span,))
    assert share_written_right(trained(attention, identity), identity) == 1.0


@pytest.mark.slow  # 20 seconds
def test_a_decoder_that_looks_at_itself_too_copies_the_flagged_letters():
    attention = AttentionSettings(score=Choice("bilinear"), span=(Choice("temporal"),))
    model = trained(attention, flagged, head="pointer", order="luong", cell=Choice("lstm"), intra_attention=True)
    assert share_written_right(model, flagged) >= 0.95


@pytest.mark.slow  # 20 seconds
def test_temporal_attention_with_a_pointer_copies_the_flagged_letters():
    attention = AttentionSettings(score=Choice("bilinear"), span=(Choice("temporal"),))
    assert share_written_right(trained(attention, flagged, head="pointer"), flagged) >= 0.95
