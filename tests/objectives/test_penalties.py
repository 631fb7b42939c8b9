"""Penalties by hand and by loops, and the objective that adds them."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from networks import build_translator
from torch import Tensor, tensor
from torch.testing import assert_close

from regard.attention import Attended, Recorded, Role
from regard.errors import ConfigError
from regard.models import ROUTE, AttentionSettings, Translator
from regard.objectives import PENALTIES, Context, PenalisedObjective, build_penalties
from regard.objectives.likelihood import LikelihoodObjective
from regard.objectives.reinforce import ReinforceObjective
from regard.records import EOS, PAD, Batch, Sequences
from regard.registry import Choice
from regard.training.schedules import Scheduled
from regard.training.settings import TrainingSettings

TARGETS, SOURCES = [3, 2], [4, 3]
NAME = "decoders.translate.attention"
CROSS, OWN = Role("target", "source"), Role("target", "target", causal=True)


def batch_of(targets: Sequence[int] = TARGETS, sources: Sequence[int] = SOURCES) -> Batch:
    columns = {}
    for name, lengths in (("target", targets), ("source", sources)):
        mask = torch.arange(max(lengths)) < tensor(lengths).unsqueeze(-1)
        ids = torch.randint(4, 9, mask.shape)
        ids[torch.arange(len(lengths)), tensor(lengths) - 1] = EOS
        columns[name] = Sequences(ids.masked_fill(~mask, PAD), mask)
    return Batch(columns, ROUTE, torch.arange(len(targets)), sum(targets))


def weights_of(*leading: int, queries: int = 3) -> Tensor:
    """(2, *leading, target, source), as softmax leaves them: 0 at padding of the source alone."""
    mask = batch_of().sequences("source").mask.view(2, *(1,) * len(leading), 1, 4)
    scores = torch.randn(2, *leading, queries, 4, dtype=torch.float64)
    return scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)


def records_of(weights: Tensor, name: str = NAME, role: Role = CROSS) -> dict[str, Recorded]:
    return {name: Recorded(role, [Attended(weights[..., :0], weights)])}


def of(name: str, weights: Tensor, batch: Batch | None = None, role: Role = CROSS, **settings: Any) -> Tensor:
    return PENALTIES.build(Choice(name, settings))(records_of(weights, role=role), batch or batch_of())


def missed(weights: Tensor) -> float:
    """The sum of the paper for a batch of one head."""
    total = 0.0
    for row, (target, source) in enumerate(zip(TARGETS, SOURCES, strict=True)):
        for key in range(source):
            total += (1 - sum(float(weights[row, query, key]) for query in range(target))) ** 2
    return total


def overlap(rows: Tensor) -> float:
    """|A Aᵀ - I|² of rows (row, key), entry by entry."""
    size = range(len(rows))
    return sum((float(rows[one] @ rows[other]) - (one == other)) ** 2 for one in size for other in size)


def test_doubly_stochastic_equals_its_sum(assert_agrees):
    weights = weights_of()
    assert_agrees("A28", of("doubly_stochastic", weights), tensor(missed(weights), dtype=torch.float64), 1e-12)


def test_each_head_is_to_see_the_whole_source(assert_agrees):
    weights = weights_of(2)
    wanted = tensor((missed(weights[:, 0]) + missed(weights[:, 1])) / 2, dtype=torch.float64)
    assert_agrees("A28", of("doubly_stochastic", weights), wanted, 1e-12)


def test_uniform_weights_of_as_many_words_cost_nothing(assert_agrees):
    batch = batch_of([4, 3], [4, 3])
    weights = batch.sequences("source").mask.double().unsqueeze(1).expand(2, 4, 4) / tensor(SOURCES).view(2, 1, 1)
    assert_agrees("A28", of("doubly_stochastic", weights, batch), torch.zeros((), dtype=torch.float64), 1e-12)


def test_places_that_are_unfolded_behind_the_source_need_not_be_seen(assert_agrees):
    weights = torch.cat([0.8 * weights_of(), torch.full((2, 3, 2), 0.1, dtype=torch.float64)], dim=-1)
    assert_agrees("A28", of("doubly_stochastic", weights), tensor(missed(weights), dtype=torch.float64), 1e-12)


@pytest.mark.parametrize("role", [OWN, Role("source", "source"), Role(None, "source"), Role()])
def test_only_what_looks_at_the_source_can_miss_some_of_it(role):
    with pytest.raises(ConfigError, match=f"penalties.attentions: '{NAME}' attends to no source"):
        of("doubly_stochastic", weights_of(), role=role, attentions="*")


def test_an_encoder_that_leaves_fewer_places_than_words_is_told():
    with pytest.raises(ConfigError, match=f"penalties: '{NAME}' attends to 3 places, and the source has 4 words"):
        of("doubly_stochastic", weights_of()[..., :3])


def test_overlap_between_heads_equals_its_sum_over_the_words(assert_agrees):
    weights = weights_of(2)
    wanted = sum(overlap(weights[row, :, query]) for row, target in enumerate(TARGETS) for query in range(target))
    assert_agrees("A20", of("overlap", weights), tensor(wanted, dtype=torch.float64), 1e-12)


def test_overlap_between_hops_equals_its_sum(assert_agrees):
    weights = weights_of()
    wanted = tensor(sum(map(overlap, weights)), dtype=torch.float64)
    assert_agrees("A20", of("overlap", weights, between="hops", role=Role(None, "source")), wanted, 1e-12)


def test_hops_that_each_have_a_key_of_their_own_cost_nothing():
    apart = torch.eye(4)[:3].expand(2, 3, 4)
    assert float(of("overlap", apart, between="hops")) == 0.0
    together = torch.eye(4)[[0, 0, 1]].expand(2, 3, 4)
    assert float(of("overlap", together, between="hops")) == 2 * 2.0


def test_a_hop_that_sees_nothing_is_left_out_with_finite_gradients():
    weights = weights_of().clone()
    weights[1] = 0.0
    weights.requires_grad_()
    found = of("overlap", weights, between="hops")
    found.backward()
    assert found.item() == pytest.approx(overlap(weights[0].detach()))
    assert bool(weights.grad.isfinite().all())


def test_one_head_overlaps_with_nothing():
    with pytest.raises(ConfigError, match=f"penalties.between: '{NAME}' has one head"):
        of("overlap", weights_of())


@pytest.mark.parametrize("name", PENALTIES)
def test_words_one_by_one_are_all_words(name):
    weights, penalty = weights_of(2), PENALTIES.build(Choice(name))
    steps = {NAME: Recorded(CROSS, [Attended(some[..., :0], some) for some in weights.split(1, dim=-2)])}
    assert_close(penalty(steps, batch_of()), of(name, weights))


@pytest.mark.parametrize("name", PENALTIES)
def test_several_copies_of_a_batch_are_a_mean(name):
    first, second = weights_of(2), weights_of(2)
    assert_close(of(name, torch.cat([first, second])), (of(name, first) + of(name, second)) / 2)


@pytest.mark.parametrize("name", PENALTIES)
def test_gradients_are_those_of_finite_differences(name):
    assert torch.autograd.gradcheck(lambda some: of(name, some), weights_of(2).requires_grad_())


@pytest.mark.parametrize("name", PENALTIES)
def test_only_the_attentions_meant_count_and_one_must_be(name):
    weights, penalty = weights_of(2), PENALTIES.build(Choice(name))
    others = records_of(weights[..., :2, :2], "own", OWN)
    assert_close(penalty({**others, **records_of(weights)}, batch_of()), of(name, weights))
    twice = {**records_of(weights), **records_of(weights, "another")}
    assert_close(penalty(twice, batch_of()), len(penalty.chosen(twice)) * of(name, weights))
    assert float(penalty({NAME: Recorded(CROSS, [])}, batch_of())) == 0.0  # of another route
    with pytest.raises(ConfigError, match=r"penalties.attentions: no attention reads a source \(there is: own\)"):
        penalty(others, batch_of())


@pytest.mark.parametrize("pattern", ["decoders.*.cross", ("nowhere", "*.cross")])
def test_patterns_choose_attentions_by_their_paths(pattern):
    weights, path = weights_of(2), "decoders.translate.blocks.3.cross"
    patterns = (pattern,) if isinstance(pattern, str) else pattern
    penalty = PENALTIES.build(Choice("overlap", {"attentions": patterns}))
    both = {**records_of(weights, path), **records_of(2 * weights)}
    assert_close(penalty(both, batch_of()), of("overlap", weights))
    with pytest.raises(ConfigError, match=r"no attention is called .*there is: decoders.translate.attention"):
        penalty(records_of(weights), batch_of())


def translator(weighting: str = "softmax") -> Translator:
    part = Choice("transformer", {"num_layers": 2, "feedforward_dim": 8})
    attention = AttentionSettings(num_heads=2, weighting=Choice(weighting))
    settings = dict(dim=8, encoder=part, decoder=part, attention=attention, dropout=0.0)
    return build_translator(settings, 9, 9).double()


def test_the_objective_adds_weighted_penalties_of_one_forward_pass(monkeypatch):
    model, batch = translator(), batch_of()
    plain = LikelihoodObjective(Context(model))
    penalties = build_penalties([Choice("overlap", {"weight": 0.5}), Choice("doubly_stochastic", {"weight": 2.0})])
    passes: list[Batch] = []
    nll = model.nll
    monkeypatch.setattr(model, "nll", lambda *given, **settings: passes.append(given[0]) or nll(*given, **settings))
    objective = PenalisedObjective(plain, penalties)
    loss = objective.loss(batch, "model")
    assert len(passes) == 1
    alone, parts = plain.loss(batch, "model"), loss.parts
    assert_close(loss.sum, alone.sum + 0.5 * parts["overlap"] + 2.0 * parts["doubly_stochastic"])
    assert set(parts) == {"loss", "overlap", "doubly_stochastic"} and loss.count == alone.count
    assert_close(parts["loss"], alone.parts["loss"])
    assert not any(part.requires_grad for part in parts.values())
    assert objective.turns == plain.turns
    assert list(objective.parameters_of("model")) == list(model.parameters())


def test_penalties_reach_the_weights_through_the_model():
    model, penalties = translator(), build_penalties([Choice("doubly_stochastic", {"weight": 3.0})])
    plain = LikelihoodObjective(Context(model))
    query = model.decoders[ROUTE].blocks[0].cross.heads.from_query.weight
    batch = batch_of()
    with_, without = (
        torch.autograd.grad(objective.loss(batch, "model").sum, query)[0]
        for objective in (PenalisedObjective(plain, penalties), plain)
    )
    assert float((with_ - without).abs().max()) > 1e-3


def test_penalties_of_several_draws_are_a_mean_as_their_objective_is():
    model, batch = translator("hard").eval(), batch_of()
    one, many = (
        PenalisedObjective(
            ReinforceObjective(Context(model), samples=samples).double(), build_penalties([Choice("doubly_stochastic")])
        ).loss(batch, "model")
        for samples in (1, 3)
    )
    assert_close(many.sum, one.sum)


def test_a_penalty_that_comes_again_has_a_name_of_its_own():
    built = build_penalties([Choice("overlap"), Choice("doubly_stochastic"), Choice("overlap", {"weight": 0.1})])
    assert {name: penalty.weight for name, penalty in built.items()} == {
        "overlap": 1.0,
        "doubly_stochastic": 1.0,
        "overlap_2": 0.1,
    }


def test_schedules_drive_the_weight_of_a_penalty_and_the_objective_by_its_own_name():
    model = translator()
    plain = LikelihoodObjective(Context(model), label_smoothing=0.2)
    objective = PenalisedObjective(plain, build_penalties([Choice("overlap", {"weight": 0.4})]))
    names = ("penalties.overlap.weight", "objective.label_smoothing")
    settings = TrainingSettings(schedules={name: Choice("linear", {"updates": 4}) for name in names})
    Scheduled(settings, model, objective).apply(2)
    assert (objective.penalties["overlap"].weight, plain.label_smoothing) == pytest.approx((0.2, 0.1))
