"""Models that write together, against their means by hand."""

import pytest
import torch
from torch.testing import assert_close

from regard.decoding import BeamSearch, GreedySearch
from regard.models.ensemble import Ensemble
from regard.records import BOS, EOS

VOCAB = 8
MEANS = ["log_probabilities", "probabilities"]


@pytest.fixture
def members(writers):
    return [writers.translator("transformer", "transformer", vocab=VOCAB, seed=seed) for seed in (1, 2, 3)]


@pytest.mark.parametrize("mean", MEANS)
def test_a_step_is_the_mean_of_the_members(writers, members, mean):
    batch, ids = writers.batch_of([[3, 4, EOS], [5, EOS]]), torch.tensor([[BOS], [BOS]])
    together = Ensemble(members, mean)
    step, state = together.step(ids, together.start(batch), need_weights=True)
    alone = [one.step(ids, one.start(batch), need_weights=True)[0] for one in members]
    logs = torch.stack([one.log_probs for one in alone])
    wanted = logs.sum(dim=0) / 3 if mean == "log_probabilities" else (logs.exp().sum(dim=0) / 3).log()
    assert_close(step.log_probs, wanted)
    assert_close(step.weights, sum(one.weights for one in alone) / 3)
    words, found, _ = together.best(ids, together.start(batch), 2, (BOS, EOS))
    wanted[:, [BOS, EOS]] = -torch.inf
    assert_close(found, wanted.topk(2).values)
    assert_close(words, wanted.topk(2).indices)
    after, _ = together.step(words[:, :1], state.select(torch.tensor([1, 0])))
    assert after.log_probs.shape == (2, VOCAB)


@pytest.mark.parametrize("mean", MEANS)
def test_losses_are_those_of_what_is_written(writers, members, mean):
    batch = writers.batch_of([[3, 4, EOS], [5, EOS]], [[4, EOS], [6, 3, EOS]])
    together = Ensemble(members, mean)
    state, ids, sums = together.start(batch), torch.full((2, 1), BOS), torch.zeros(2, dtype=torch.float64)
    target = batch.sequences("target")
    for place in range(3):
        step, state = together.step(ids, state)
        ids = target.items[:, place : place + 1]
        sums -= step.log_probs.gather(-1, ids)[:, 0] * target.mask[:, place]
    assert_close((together.nll(batch) * together.counted(batch)).sum(dim=-1), sums)


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("search", [BeamSearch(size=3, n_best=2), GreedySearch()], ids=["beam", "greedy"])
def test_equal_members_write_what_each_writes_alone(writers, members, mean, search):
    batch = writers.batch_of(writers.sources_of(6, VOCAB, 6))
    with torch.inference_mode():
        alone = search.run(members[0], batch)
        found = search.run(Ensemble(members[:1] * 3, mean), batch)
    for some, others in zip(found, alone, strict=True):
        assert [one.ids for one in some] == [one.ids for one in others]
        assert [one.score for one in some] == pytest.approx([one.score for one in others], abs=1e-9)


def test_limits_are_those_that_all_members_have(writers, members):
    class Short(torch.nn.Module):
        max_source = 7

        def longest(self, batch):
            return 5

    batch = writers.batch_of([[3, EOS]])
    assert (Ensemble(members).max_source, Ensemble(members).longest(batch)) == (
        members[0].max_source, members[0].longest(batch),
    )  # fmt: skip
    together = Ensemble([*members, Short()])
    assert (together.max_source, together.longest(batch)) == (7, 5)
