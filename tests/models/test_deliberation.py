"""Two passes: with closed gates both are one; the draft is the first pass's own; a row depends on its text alone."""

from itertools import chain
from typing import Any

import pytest
import torch
from networks import columns_of
from torch.testing import assert_close

from regard.attention import recording
from regard.data.collate import collate
from regard.decoding import SEARCHES, GreedySearch
from regard.models import MODELS
from regard.models.deliberation import BEFORE, BEHIND, ITSELF, Deliberation
from regard.models.second_pass import Draft, greedy_drafts
from regard.models.translator import shifted
from regard.objectives import Context
from regard.objectives.likelihood import LikelihoodObjective
from regard.ops.plain import plain
from regard.records import EOS, PAD, Batch
from regard.registry import Choice

VOCAB = 13
SIZES = {"num_layers": 1, "feedforward_dim": 8}
ONE, TWO, THREE = [5, 6, 7], [8, 9], [4, 10, 11, 12]
TEXT = [*ONE, EOS, *TWO, EOS, *THREE]
TARGETS = [[4, 5], [6], [7, 8, 9], [10, 4]]


def make(decoder: str = "transformer", gate: float = 0.7, **settings: Any) -> Deliberation:
    torch.manual_seed(3)
    parts = {"encoder": Choice("transformer", SIZES), "decoder": Choice(decoder, SIZES | {"num_layers": 2})}
    if decoder == "recurrent":
        parts["decoder"] = Choice("recurrent", {"hidden_dim": 8})
    columns = columns_of(source=VOCAB, document=VOCAB, target=VOCAB)
    model = MODELS.build(Choice("deliberation", {"dim": 8, "num_layers": 2, **parts, **settings}), columns)
    assert isinstance(model, Deliberation)
    for matrix in model.second.gates:
        matrix.data.copy_(gate * torch.eye(len(matrix)))
    return model.double().eval()


def batch_of(sources: list[list[int]], documents: list[list[int]] | None, targets: list[list[int]]) -> Batch:
    rows = {"source": sources, "target": targets} | ({} if documents is None else {"document": documents})
    columns = {name: collate([[*row, EOS] for row in some]) for name, some in rows.items()}
    return Batch(columns, "translate", torch.arange(len(sources)), sum(map(len, targets)) + len(targets))


@pytest.fixture
def batch() -> Batch:
    """Three sentences of a text, and one by itself."""
    return batch_of([ONE, TWO, THREE, TWO], [TEXT, TEXT, TEXT, TWO], TARGETS)


@pytest.mark.parametrize("decoder", ["transformer", "recurrent"])
@pytest.mark.parametrize("search", ["greedy", Choice("beam", {"size": 3})])
@torch.no_grad()
def test_closed_gates_make_both_passes_one(decoder, search, batch, assert_agrees):
    model = make(decoder, gate=0.0)
    assert_agrees("F14", model.nll(batch), model.first.nll(batch), tolerance=0.0)
    found = SEARCHES.build(search if isinstance(search, Choice) else Choice(search))
    with plain():
        assert found.run(model, batch) == found.run(model.first, batch)


def test_open_gates_change_the_first_pass(batch):
    model = make()
    assert bool(((model.nll(batch) - model.first.nll(batch)).abs() > 1e-6)[batch.columns["target"].mask].all())


@pytest.mark.parametrize("documents", [None, [[], []]], ids=["no-column", "empty"])
def test_a_text_of_one_sentence_is_read_again_alone(documents):
    given = [ONE, TWO], TARGETS[:2]
    alone = make().nll(batch_of(given[0], [ONE, TWO], given[1]))
    assert_close(make().nll(batch_of(given[0], documents, given[1])), alone, rtol=0, atol=0)


@pytest.mark.parametrize("row", range(4))
def test_a_row_depends_on_its_own_text_alone(row, batch):
    model = make()
    losses = model.nll(batch)[row, : len(TARGETS[row]) + 1]
    one = batch.select(torch.tensor([row]))
    assert_close(model.nll(one)[0, : len(losses)], losses, rtol=0, atol=1e-12)


def test_other_sentences_of_the_text_matter(batch):
    model, changed = make(), [*ONE, EOS, 5, EOS, *THREE]
    other = batch_of([ONE, TWO, THREE, TWO], [changed, TEXT, changed, TWO], TARGETS)
    same = (model.nll(batch) - model.nll(other)).abs().amax(dim=1) == 0
    assert same.tolist() == [False, True, False, True]


@torch.no_grad()
def test_the_draft_is_greedy_search_of_the_first_pass(batch):
    model = make()
    sentences = batch_of([ONE, TWO, THREE], None, TARGETS[:3])
    found = [[*best.ids, EOS] for (best,) in GreedySearch().run(model.first, sentences)]
    assert [[*one] for one in greedy_drafts(model.first, sentences)] == found
    with plain():
        assert [[*one] for one in greedy_drafts(model.first, sentences)] == found
    texts = [found, found, found, [found[1]]]
    drafted = model.draft(batch).ids.tolist()
    assert [[one for one in row if one != PAD] for row in drafted] == [[*chain(*text)] for text in texts]


@torch.no_grad()
def test_a_draft_is_states_beside_words_and_tells_sides():
    """By hand: the second of three sentences; the first one has nothing before it, the last one nothing behind."""
    model = make()
    sentences = batch_of(
        [ONE, TWO, THREE],
        None,
        [[*one[:-1]] for one in greedy_drafts(model.first, batch_of([ONE, TWO, THREE], None, TARGETS[:3]))],
    )
    decoded, _ = model.first.decode(sentences)
    words, _ = model.first.decoders["translate"].embedder(sentences.columns["target"].items)
    plain_states = torch.cat([decoded.states, words], dim=-1)
    for source, sides in zip(
        (ONE, TWO, THREE),
        ([ITSELF, BEHIND, BEHIND], [BEFORE, ITSELF, BEHIND], [BEFORE, BEFORE, ITSELF]),
        strict=True,
    ):
        draft: Draft = model.draft(batch_of([source], [TEXT], [[4]]))
        wanted = (plain_states + model.sides.weight[sides].unsqueeze(1)).flatten(0, 1)
        assert_close(draft.seen.states[0], wanted, rtol=0, atol=1e-12)
        assert torch.equal(draft.seen.mask[0], sentences.columns["target"].mask.flatten())


@pytest.mark.parametrize("decoder", ["transformer", "recurrent"])
def test_one_step_equals_all_steps(decoder, batch):
    model = make(decoder)
    decoded, encoded = model.decode(batch, need_weights=True)
    wanted = model.first.heads["translate"].log_probs(decoded, encoded)
    read, state = shifted(batch.columns["target"].items), model.start(batch)
    for place in range(read.shape[1]):
        step, state = model.step(read[:, place : place + 1], state, need_weights=True)
        assert_close(step.log_probs, wanted[:, place], rtol=0, atol=1e-10)
        assert_close(step.weights, decoded.weights[:, place], rtol=0, atol=1e-10)


def test_selected_rows_go_on_as_they_were(batch):
    model, read = make(), shifted(batch.columns["target"].items)
    rows = torch.tensor([0, 0, 2, 2, 3])
    step, state = model.step(read[:, :1], model.start(batch))
    _, state = step, state.select(rows)
    chosen, _ = model.step(read[rows, 1:2], state)
    alone = model.start(batch)
    _, alone = model.step(read[:, :1], alone)
    wanted, _ = model.step(read[:, 1:2], alone)
    assert_close(chosen.log_probs, wanted.log_probs[rows], rtol=0, atol=1e-10)


def test_only_the_second_pass_learns(batch):
    model = make(dropout=0.5).train()
    assert_close(model.first.nll(batch), model.first.nll(batch), rtol=0, atol=0)  # nothing of it is dropped
    model.nll(batch).sum().backward()
    learning = {name.split(".")[0] for name, one in model.named_parameters() if one.requires_grad}
    assert learning == {"second", "sides"}
    assert all(one.grad is not None and bool(one.grad.isfinite().all()) for one in model.second.parameters())
    assert all(one.grad is None for one in model.first.parameters())


def test_the_joint_loss_is_the_sum_of_both_passes(batch, assert_agrees):
    """Where the first pass learns, too; its loss is that of the translator that it is."""
    joint, alone = make(joint=0.3), make()
    objective = LikelihoodObjective(Context(joint), label_smoothing=0.1)
    found = objective.loss(batch, "model")
    second, first = (model.nll(batch, smoothing=0.1).sum() for model in (alone, alone.first))
    assert_agrees("F14", found.sum, second + 0.3 * first, tolerance=1e-10)
    assert_close(found.parts, {"loss": second.detach(), "first_pass": 0.3 * first.detach()}, rtol=0, atol=1e-10)


def test_without_a_weight_the_loss_is_that_of_the_second_pass(batch):
    model = make(joint=0.0)
    found = LikelihoodObjective(Context(model), label_smoothing=0.1).loss(batch, "model")
    assert torch.equal(found.sum, model.nll(batch, smoothing=0.1).sum())
    assert [*found.parts] == ["loss"]


def test_with_a_weight_both_passes_learn(batch):
    """The first pass by its own loss and by that of the second one, but not by the draft, which has no gradient."""
    model = make(joint=0.5)
    sum(model.training_losses(batch).values()).backward()
    found = {name: one.grad for name, one in model.first.named_parameters()}
    assert all(one is not None for one in found.values())
    other = make(joint=0.5)
    draft, target = other.draft(batch), batch.columns["target"].items
    decoded, encoded = other.first.decode(batch)
    states, *_ = other.second(decoded.states, other.second.start(draft.seen))
    head = other.first.heads["translate"]
    loss = head.nll(decoded._replace(states=states), encoded, target).sum() + 0.5 * other.first.nll(batch).sum()
    wanted = torch.autograd.grad(loss, [*other.first.parameters()])
    assert_close([*found.values()], [*wanted], rtol=0, atol=1e-10)


def test_a_draft_is_written_without_dropout_while_the_first_pass_learns(batch):
    model = make(joint=1.0, dropout=0.5).train()
    assert torch.equal(model.draft(batch).ids, make(dropout=0.5).draft(batch).ids)
    assert model.first.training
    assert not torch.equal(model.first.nll(batch), model.first.nll(batch))


def test_drafting_is_not_recorded(batch):
    """One forced pass over the targets is what an explanation is of."""
    model = make()
    with recording(model) as records:
        model.nll(batch)
    length = batch.columns["target"].items.shape[1]
    for name, (role, answers) in records.items():
        assert len(answers) == 1, name
        if role.queries == "target":
            assert answers[0].weights.shape[-2] == length
    assert {role.keys for role, _ in records.values()} == {"source", "target", "draft"}
