"""Every decoder without a source: a language model that can be run in pieces, behind any prompt."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from language import model_of, small, task_of
from networks import build_language_model
from torch.testing import assert_close

from regard.attention import Sockets
from regard.decoders import DECODERS
from regard.decoding import GreedySearch
from regard.errors import ConfigError
from regard.layers.embedders.words import WordEmbedder
from regard.layers.normalisation import NORMALISATIONS
from regard.layers.recurrent import RECURRENT
from regard.models import AttentionSettings, build_attention
from regard.models.language_model import LanguageModel
from regard.models.translator import shifted
from regard.records import BOS, EOS, PAD, Batch, Sequences
from regard.registry import Choice

VOCAB = 13
TEXTS = [[4, 5, 6, 9, EOS], [7, 8, 9, 10, 11, 4, EOS], [5, EOS]]
KINDS = {
    **{name: small(name) for name in DECODERS},
    **{f"recurrent-{cell}": small("recurrent", order="luong", cell=Choice(cell)) for cell in RECURRENT},
    "recurrent-intra": small("recurrent", order="luong", intra_attention=True),
    **{f"bytenet-{name}": small("bytenet", norm=Choice(name)) for name in NORMALISATIONS},
}


def batch_of(texts: list[list[int]], given: int = 0, more: int = 0) -> Batch:
    """Texts of which the first `given` pieces are not counted, with so much more padding than they need."""
    longest = max(map(len, texts)) + more
    items = torch.tensor([text + [PAD] * (longest - len(text)) for text in texts])
    mask = torch.arange(longest) < torch.tensor([[len(text)] for text in texts])
    counted = mask & (torch.arange(longest) >= given)
    return Batch(
        {"text": Sequences(items, mask), "counted": counted}, "any", torch.arange(len(texts)), int(counted.sum())
    )


@pytest.fixture(params=KINDS)
def model(request: pytest.FixtureRequest) -> LanguageModel:
    return model_of(KINDS[request.param], VOCAB)


def log_probs(model: LanguageModel, batch: Batch) -> torch.Tensor:
    return model.head.log_probs(model.decode(batch)[0], None)


@torch.no_grad()
def test_one_step_equals_all_steps_behind_any_prompt(model):
    batch = batch_of(TEXTS[:2])
    wanted = log_probs(model, batch)
    items = batch.columns["text"].items[:, :5]
    for length in range(5):
        prompts = {"text": Sequences(items[:, :length], torch.ones(2, length, dtype=torch.bool))}
        state = model.start(
            Batch({**prompts, "counted": torch.zeros(2, length, dtype=torch.bool)}, "any", torch.arange(2), 0)
        )
        ids = torch.full((2, 1), BOS)  # what a search says first; the prompt's end is what is read
        for place in range(length, 5):
            step, state = model.step(ids, state)
            assert_close(step.log_probs, wanted[:, place])
            ids = items[:, place : place + 1]


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=10)
@given(cuts=st.lists(st.integers(0, 7), max_size=3).map(sorted))
@torch.no_grad()
def test_any_split_equals_the_whole_pass(name, cuts):
    model, batch = model_of(KINDS[name], VOCAB), batch_of(TEXTS[1:2] * 2)
    read, state, states = shifted(batch.columns["text"].items), model.decoder.start(rows=torch.arange(2)), []
    for start, end in zip([0, *cuts], [*cuts, 7], strict=True):
        if start < end:
            decoded, state = model.decoder(read[:, start:end], state)
            states.append(decoded.states)
    assert_close(torch.cat(states, dim=1), model.decode(batch)[0].states, rtol=0, atol=1e-10)


@torch.no_grad()
def test_selected_rows_go_on_as_they_were_also_before_the_first_step(model):
    prompts = batch_of([text[:2] for text in TEXTS[:2]], given=2)
    rows = torch.tensor([1, 0, 0, 1])
    ids = torch.full((2, 1), BOS)
    step, after = model.step(ids, model.start(prompts))
    repeated, later = model.step(ids[rows], model.start(prompts).select(rows))
    assert_close(repeated.log_probs, step.log_probs[rows])
    more = torch.tensor([[6], [7]])
    assert_close(
        model.step(more[rows], later.select(torch.arange(4)))[0].log_probs, model.step(more, after)[0].log_probs[rows]
    )


def test_batch_mates_and_what_is_not_counted_do_not_matter(model):
    losses = model.nll(batch_of(TEXTS))
    for row, text in enumerate(TEXTS):
        assert_close(losses[row, : len(text)], model.nll(batch_of([text]))[0])
    some = model.nll(batch_of(TEXTS, given=2))
    assert bool((some[:, :2] == 0).all())
    assert_close(some[:, 2:], losses[:, 2:])


@pytest.mark.parametrize("name", KINDS)
def test_more_padding_changes_nothing_in_training(name):
    model = model_of(KINDS[name], VOCAB, dropout=0.0).train()
    losses = model.nll(batch_of(TEXTS))
    assert_close(model.nll(batch_of(TEXTS, more=5))[:, :7], losses, rtol=0, atol=1e-10)


def test_no_piece_sees_a_later_one_bitwise(model):
    changed = [TEXTS[0], [*TEXTS[1][:3], 4, 4, 4, EOS], TEXTS[2]]
    assert torch.equal(model.nll(batch_of(TEXTS))[1, :3], model.nll(batch_of(changed))[1, :3])


def test_every_parameter_learns_so_nothing_waits_for_a_source(model):
    model.train()
    model.nll(batch_of(TEXTS), smoothing=0.1).sum().backward()
    assert [name for name, parameter in model.named_parameters() if parameter.grad is None] == []


@torch.no_grad()
def test_a_greedy_continuation_is_the_argmax_again_and_again(model, assert_agrees):
    prompt, search = [4, 9, 5], GreedySearch(max_extra=6)
    (found,) = search.run(model, batch_of([prompt], given=3))[0]
    text = list(prompt)
    for _ in range(5):  # the sixth piece is the end
        scores = log_probs(model, batch_of([[*text, PAD + 3]]))[0, len(text)]
        scores[[PAD, BOS]] = -torch.inf
        text.append(int(scores.argmax()))
        if text[-1] == EOS:
            break
    wanted = [piece for piece in text[3:] if piece != EOS]
    assert_agrees("C14", torch.tensor(found.ids), torch.tensor(wanted), tolerance=0.0)


@pytest.mark.parametrize("name", DECODERS)
def test_a_decoder_without_a_source_asks_for_no_attention_to_one(name):
    def never(query_dim: int, key_dim: int) -> None:
        raise AssertionError("there is no source")

    def own(dim: int) -> object:
        return build_attention(AttentionSettings(), dim, dim, causal=True)

    choice = small(name)
    DECODERS.build(choice, WordEmbedder(VOCAB, 8), None, Sockets(never, own, own))


def test_prompts_of_different_lengths_are_not_read_together():
    batch = task_of(["abc"]).batch([{"text": [4, 5]}, {"text": [4]}])
    with pytest.raises(ValueError, match="different lengths"):
        model_of("transformer", VOCAB).start(batch)


def test_a_head_that_copies_is_refused():
    with pytest.raises(ConfigError, match=r"model\.head: copies from a source"):
        build_language_model(dict(dim=8, decoder=small("recurrent"), head=Choice("pointer")), VOCAB)


@pytest.mark.parametrize(("tied", "tables"), [("all", 1), ("target", 1), ("none", 2)])
def test_tied_tables_are_one_parameter(tied, tables):
    model = build_language_model(dict(dim=8, decoder=small("recurrent"), tied=tied), VOCAB)
    assert len({id(model.decoder.embedder.table), id(model.head.weight)}) == tables
