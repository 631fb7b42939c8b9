"""Attention that ranks: shapes, orders, losses by hand, and that it learns."""

import itertools
import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attention.ranking import (
    RankingAttention,
    expected_dcg,
    ndcg,
    order,
    order_loss,
    places_by_places,
    places_by_results,
    results_by_places,
)

LISTS, RESULTS, PLACES, DIM = 3, 6, 4, 5
COUNTS = [6, 2, 0]
MASK = torch.arange(RESULTS) < torch.tensor(COUNTS).unsqueeze(-1)


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


SIZES = list(itertools.product((1, 3), (1, 4), (1, 2, 7)))  # m·d, n, k: one, fewer results than places, more


@pytest.mark.parametrize(("rows", "n", "k"), SIZES)
def test_the_three_shapes_by_loops(rows, n, k, assert_agrees):
    queries, keys = random(rows, n), random(n, n)
    scores = places_by_places(queries, keys)
    assert scores.shape == (rows, n)
    wanted = [
        [sum(q * x for q, x in zip(query, key, strict=True)) for key in keys.tolist()] for query in queries.tolist()
    ]
    assert_agrees("H01", scores, torch.tensor(wanted, dtype=torch.float64))
    for read, width, count in ((results_by_places, k, n), (places_by_results, n, k)):
        queries, keys = random(rows, width), random(count, width)
        mixed, weights = read(queries, keys)
        assert mixed.shape == (rows, width) and weights.shape == (rows, count)
        for row, query in enumerate(queries):
            wanted = torch.stack([query @ key for key in keys]).softmax(dim=0)
            assert_agrees("H01", weights[row], wanted)
            assert_agrees("H01", mixed[row], sum(weight * key for weight, key in zip(wanted, keys, strict=True)))


@pytest.mark.parametrize(
    ("read", "queries", "keys"),
    [(places_by_places, (3, 4), (4, 5)), (results_by_places, (3, 2), (4, 3)), (places_by_results, (3, 4), (2, 3))],
)
def test_shapes_that_do_not_fit_are_told(read, queries, keys):
    with pytest.raises(ValueError, match=r"queries \(3, \d\) and keys \(\d, \d\) are not \(m·d"):
        read(random(*queries), random(*keys))


@pytest.fixture
def ranking() -> RankingAttention:
    return RankingAttention(DIM, PLACES).double()


def test_places_ask_results_answer(ranking):
    results = random(LISTS, RESULTS, DIM)
    attended, scores = ranking(results, MASK), ranking.scores(results)
    assert scores.shape == attended.weights.shape == (LISTS, PLACES, RESULTS)
    for row, count in enumerate(COUNTS[:2]):
        wanted = (ranking.places @ results[row, :count].T / math.sqrt(DIM)).softmax(dim=-1)
        assert_close(attended.weights[row, :, :count], wanted)
        assert_close(attended.context[row], wanted @ results[row, :count])
    assert bool((attended.weights[2] == 0).all()) and bool(
        (attended.weights[~MASK.unsqueeze(1).expand_as(scores)] == 0).all()
    )


def test_permuting_the_results_permutes_the_columns_and_the_order(ranking):
    results, turned = random(LISTS, RESULTS, DIM), torch.randperm(RESULTS)
    moved = ranking(results[:, turned], MASK[:, turned])
    assert_close(moved.weights, ranking(results, MASK).weights[..., turned])
    assert_close(moved.context, ranking(results, MASK).context)
    first, second = (
        order(ranking.scores(some), mask) for some, mask in ((results, MASK), (results[:, turned], MASK[:, turned]))
    )
    assert_close(torch.where(second >= 0, turned[second], -1), first)


def test_each_place_takes_the_best_that_is_left_and_stays_empty_when_none_is():
    scores = torch.tensor([[[1.0, 3.0, 2.0]] * 4, [[1.0, 3.0, 2.0], [5.0, 1.0, 1.0], [0.0, 9.0, 0.0], [1.0, 1.0, 1.0]]])
    assert order(scores).tolist() == [[1, 2, 0, -1], [1, 0, 2, -1]]
    mask = torch.tensor([[True, False, True], [False, False, False]])
    assert order(scores, mask).tolist() == [[2, 0, -1, -1], [-1] * 4]
    assert order(scores[..., :0]).tolist() == [[-1] * 4] * 2


def test_the_loss_of_an_order_by_loops(assert_agrees):
    scores = random(LISTS, PLACES, RESULTS)
    ideal = torch.tensor([[3, 0, 5, 1], [1, 0, -1, -1], [-1] * 4])
    found = order_loss(scores, ideal, MASK)
    for row, count in enumerate(COUNTS):
        left, wanted = list(range(count)), 0.0
        for place, best in enumerate(ideal[row].tolist()):
            if best >= 0:
                total = sum(math.exp(scores[row, place, one].item()) for one in left)
                wanted -= math.log(math.exp(scores[row, place, best].item()) / total)
                left.remove(best)
        assert_agrees("H01", found[row], torch.tensor(wanted, dtype=torch.float64))


def test_probabilities_of_all_orders_sum_to_one(assert_agrees):
    """Places that score alike: the distribution of Plackett and Luce."""
    scores = random(1, 1, 4).expand(1, 4, 4)
    orders = torch.tensor(list(itertools.permutations(range(4))))
    probabilities = (-order_loss(scores.expand(len(orders), 4, 4), orders)).exp()
    assert_agrees("H01", probabilities.sum(), torch.tensor(1.0, dtype=torch.float64))
    best = orders[probabilities.argmax()]
    assert_close(best, order(scores)[0])


def test_gradients_of_the_loss_are_finite_where_places_stay_empty():
    scores = random(LISTS, PLACES, RESULTS).requires_grad_()
    ideal = torch.tensor([[3, 0, 5, 1], [1, 0, -1, -1], [-1] * 4])
    assert torch.autograd.gradcheck(lambda some: order_loss(some, ideal, MASK), scores)


def test_dcg_by_hand():
    relevance = torch.tensor([3.0, 0.0, 1.0], dtype=torch.float64)
    weights = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]], dtype=torch.float64)
    assert expected_dcg(weights, relevance).item() == pytest.approx(7 / math.log2(2) + 0.5 / math.log2(3))
    placed, best = torch.tensor([2, 0, 1]), 7 / math.log2(2) + 1 / math.log2(3)
    assert ndcg(placed, relevance).item() == pytest.approx((1 / math.log2(2) + 7 / math.log2(3)) / best)
    assert ndcg(torch.tensor([0, 2, 1]), relevance).item() == pytest.approx(1.0)
    assert ndcg(torch.tensor([1, 2, -1]), relevance, at=1).item() == 0.0
    assert ndcg(placed, torch.zeros(3)).item() == 1.0  # nothing to find
    assert ndcg(torch.tensor([1, -1, -1]), relevance, torch.tensor([False, True, False])).item() == 1.0


def lists(count: int, taste: Tensor) -> tuple[Tensor, Tensor]:
    """results (count, 10, dim), relevance 0 to 4 by what the hidden taste makes of them, with some noise."""
    results = torch.randn(count, 10, len(taste))
    liked = results @ taste / taste.norm() + 0.1 * torch.randn(count, 10)
    return results, (liked * 1.5 + 1).round().clamp(0, 4)


@pytest.mark.parametrize("loss", ["order", "dcg"])
def test_it_learns_what_belongs_first(loss):
    """Five places of ten results; a random order has about a third to a half of what can be had."""
    taste = torch.randn(8)
    ranking = RankingAttention(8, 5)
    optimizer = torch.optim.Adam(ranking.parameters(), lr=0.1)
    results, relevance = lists(256, taste)
    ideal = relevance.argsort(dim=-1, descending=True)[:, :5]
    for _ in range(60):
        if loss == "order":
            cost = order_loss(ranking.scores(results), ideal).mean()
        else:
            cost = -expected_dcg(ranking(results).weights, relevance).mean()
        optimizer.zero_grad()
        cost.backward()
        optimizer.step()
    results, relevance = lists(256, taste)
    shuffled = torch.rand(256, 10).argsort(dim=-1)[:, :5]
    reached = ndcg(order(ranking.scores(results)), relevance).mean().item()
    assert reached >= 0.9 and ndcg(shuffled, relevance).mean().item() < 0.7
