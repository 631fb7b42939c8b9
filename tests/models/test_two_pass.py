"""Two decoders, one after the other: closed gates leave the second one plain; a row depends on its own draft alone."""

from typing import Any

import pytest
import torch
from networks import columns_of
from torch.testing import assert_close

from regard.attention import recording
from regard.data.collate import collate
from regard.decoding import SEARCHES, GreedySearch
from regard.errors import ConfigError
from regard.models import MODELS, ROUTE
from regard.models.second_pass import greedy_drafts
from regard.models.translator import shifted
from regard.models.two_pass import TwoPass
from regard.ops.plain import plain
from regard.records import EOS, PAD, Batch
from regard.registry import Choice

VOCAB = 13
SIZES = {"num_layers": 1, "feedforward_dim": 8}
SOURCES, TARGETS = [[5, 6, 7], [8, 9], [4, 10, 11, 12]], [[4, 5], [6], [7, 8, 9]]


def make(row: str = "two_pass", decoder: str = "transformer", **settings: Any) -> Any:
    torch.manual_seed(3)
    sizes = {"hidden_dim": 8} if decoder == "recurrent" else SIZES
    parts = {"encoder": Choice("transformer", SIZES), "decoder": Choice(decoder, sizes)}
    given = {"dim": 8, "languages": ("de", "pseudo"), "tied": "target", **parts, **settings}
    return MODELS.build(Choice(row, given), columns_of(source=VOCAB, target=VOCAB)).double().eval()


def opened(gate: float = 0.7, **settings: Any) -> TwoPass:
    model = make(**settings)
    for blocks in model.second.values():
        for matrix in blocks.gates:
            matrix.data.copy_(gate * torch.eye(len(matrix)))
    return model


def batch_of(route: str, sources: list[list[int]] = SOURCES, targets: list[list[int]] = TARGETS) -> Batch:
    columns = {
        name: collate([[*row, EOS] for row in some]) for name, some in {"source": sources, "target": targets}.items()
    }
    return Batch(columns, route, torch.arange(len(sources)), sum(map(len, targets)) + len(targets))


@pytest.mark.parametrize("decoder", ["transformer", "recurrent"])
@pytest.mark.parametrize("route", ["de", "pseudo", ROUTE])
@pytest.mark.parametrize("search", [Choice("greedy"), Choice("beam", {"size": 3})], ids=["greedy", "beam"])
@torch.no_grad()
def test_closed_gates_leave_plain_decoders(decoder, route, search, assert_agrees):
    """The oracle is one_to_many with the same weights."""
    model, plain_model = make(decoder=decoder), make("one_to_many", decoder=decoder)
    plain_model.load_state_dict(model.first.state_dict())
    batch, found = batch_of(route), SEARCHES.build(search)
    assert_agrees("F10", model.nll(batch), plain_model.nll(batch), tolerance=0.0)
    with plain():
        assert found.run(model, batch) == found.run(plain_model, batch)


def test_open_gates_change_what_is_not_a_draft():
    model = opened()
    plain_model = model.first
    for route, changed in (("de", True), ("pseudo", False)):
        batch = batch_of(route)
        differs = (model.nll(batch) - plain_model.nll(batch)).abs() > 1e-6
        assert bool(differs[batch.columns["target"].mask].all()) is changed
        assert not (changed is False and bool(differs.any()))


def test_a_draft_is_greedy_search_along_its_route():
    """By hand: the states of that decoder, forced along what it wrote, beside the words."""
    model, batch = opened(), batch_of("de")
    found = [[*best.ids, EOS] for (best,) in GreedySearch().run(model.first, batch_of("pseudo"))]
    assert [[*one] for one in greedy_drafts(model.first, batch_of("pseudo"))] == found
    drafts = batch_of("pseudo", targets=[one[:-1] for one in found])
    decoded, _ = model.first.decode(drafts)
    words, _ = model.first.decoders["pseudo"].embedder(drafts.columns["target"].items)
    draft = model.draft(batch)
    assert_close(draft.seen.states, torch.cat([decoded.states, words], dim=-1), rtol=0, atol=1e-12)
    assert torch.equal(draft.seen.mask, drafts.columns["target"].mask)
    assert [[one for one in row if one != PAD] for row in model.drafted(batch).tolist()] == found
    assert model.drafted(drafts) is None


@pytest.mark.parametrize("row", range(3))
def test_a_sentence_does_not_depend_on_others(row):
    model, batch = opened(), batch_of("de")
    losses = model.nll(batch)[row, : len(TARGETS[row]) + 1]
    alone = model.nll(batch.select(torch.tensor([row])))[0, : len(losses)]
    assert_close(alone, losses, rtol=0, atol=1e-12)


@pytest.mark.parametrize("decoder", ["transformer", "recurrent"])
@pytest.mark.parametrize("route", ["de", "pseudo"])
def test_one_step_equals_all_steps(decoder, route):
    model, batch = opened(decoder=decoder), batch_of(route)
    decoded, encoded = model.decode(batch, need_weights=True)
    wanted = model.first.heads[route].log_probs(decoded, encoded)
    read, state = shifted(batch.columns["target"].items), model.start(batch)
    for place in range(read.shape[1]):
        step, state = model.step(read[:, place : place + 1], state, need_weights=True)
        assert_close(step.log_probs, wanted[:, place], rtol=0, atol=1e-10)
        assert_close(step.weights, decoded.weights[:, place], rtol=0, atol=1e-10)


@pytest.mark.parametrize("route", ["de", "pseudo"])
def test_selected_rows_go_on_as_they_were(route):
    model, batch = opened(), batch_of(route)
    read, rows = shifted(batch.columns["target"].items), torch.tensor([0, 0, 2])
    _, state = model.step(read[:, :1], model.start(batch))
    chosen, _ = model.step(read[rows, 1:2], state.select(rows))
    _, alone = model.step(read[:, :1], model.start(batch))
    wanted, _ = model.step(read[:, 1:2], alone)
    assert_close(chosen.log_probs, wanted.log_probs[rows], rtol=0, atol=1e-10)


def test_gradients_of_a_route():
    """The decoder of drafts learns from its own texts, and from what is written after it; which words it chose is no
    choice to learn from.
    """
    model = opened(tied="none").train()

    def moved(route: str) -> set[str]:
        model.zero_grad()
        model.nll(batch_of(route)).sum().backward()
        return {name for name, one in model.named_parameters() if one.grad is not None and bool(one.grad.any())}

    drafts, texts = moved("pseudo"), moved("de")
    assert not any(name.startswith(("second.", "first.decoders.de.", "first.heads.de.")) for name in drafts)
    assert any(name.startswith("first.heads.pseudo.") for name in drafts)
    assert any(name.startswith("first.encoders.") for name in drafts & texts)
    assert any(name.startswith("second.de.gates") for name in texts)
    assert any(name.startswith("first.decoders.pseudo.") for name in texts)
    assert not any(name.startswith("first.heads.pseudo.") for name in texts)
    assert all(one.training for one in model.modules())  # as it was before the draft


def test_the_gradient_through_a_draft_is_that_of_differences():
    model, batch, step = opened(dropout=0.0).train(), batch_of("de"), 1e-5
    weight = model.first.decoders["pseudo"].norm.weight
    model.nll(batch).sum().backward()
    for place in range(3):
        losses = []
        for side in (step, -step):
            with torch.no_grad():
                weight[place] += side
                losses.append(model.nll(batch).sum().item())
                weight[place] -= side
        assert weight.grad[place].item() == pytest.approx((losses[0] - losses[1]) / (2 * step), rel=1e-4, abs=1e-9)


def test_drafts_are_written_without_dropout():
    model, batch = opened(dropout=0.5), batch_of("de")
    wanted = model.drafted(batch)
    assert all(torch.equal(model.train().drafted(batch), wanted) for _ in range(3))


def test_drafting_is_not_recorded():
    model, batch = opened(), batch_of("de")
    with recording(model) as records:
        model.nll(batch)
    asked = {name: role for name, (role, answers) in records.items() if answers}
    assert not any(name.startswith("first.decoders.pseudo") for name in asked)
    assert {role.keys for role in asked.values()} == {"source", "target", "draft"}


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"drafts": "fr"}, "model.drafts: 'fr' is not one of the languages"),
        ({"languages": ("pseudo",)}, "model.languages: has 'pseudo' alone"),
        ({"languages": ()}, "model.languages: names no language"),
    ],
)
def test_bad_languages_are_refused(settings, told):
    with pytest.raises(ConfigError, match=told):
        make(**settings)
