"""REINFORCE against an enumeration of all draws, and against itself sentence by sentence."""

from collections.abc import Sequence

import pytest
import torch
from networks import build_translator
from torch import Tensor, nn
from torch.testing import assert_close

from regard.attention import Attention
from regard.attention.scores.dot import DotScore
from regard.attention.spans.everywhere import EverywhereSpan
from regard.attention.weightings.hard import HardWeighting
from regard.errors import ConfigError
from regard.models import ROUTE, AttentionSettings, Translator
from regard.objectives import OBJECTIVES, Context
from regard.objectives.reinforce import ReinforceObjective
from regard.records import EOS, PAD, Batch, Sequences
from regard.registry import Choice

KEY, VOCAB, WORD = 3, 4, 1
SAMPLES = 100_000
PARTS = ("loss", "log_prob", "entropy")


class Chooses(nn.Module):
    """One query looks at one of three keys, whose value are the logits of the only word."""

    def __init__(self) -> None:
        super().__init__()
        self.scores, self.logits = nn.Parameter(torch.randn(KEY)), nn.Parameter(torch.randn(KEY, VOCAB))
        self.attention = Attention(
            DotScore(KEY, KEY), EverywhereSpan(KEY, KEY), HardWeighting(KEY, soft_probability=0.0)
        )
        self.double()

    def nll(self, batch: Batch, *, smoothing: float = 0.0) -> Tensor:
        words = batch.sequences("target").items
        rows = len(words)
        keys = torch.eye(KEY, dtype=self.scores.dtype).expand(rows, KEY, KEY)
        memory = self.attention.remember(keys, self.logits.expand(rows, KEY, VOCAB))
        context = self.attention(self.scores.expand(rows, 1, KEY), memory).context
        return -context.log_softmax(dim=-1).gather(-1, words.unsqueeze(-1)).squeeze(-1)

    def counted(self, batch: Batch) -> Tensor:
        return batch.sequences("target").mask


def batch_of(rows: Sequence[Sequence[int]], sources: Sequence[Sequence[int]] | None = None) -> Batch:
    columns = {}
    for name, lists in (("target", rows), ("source", sources or rows)):
        longest = max(map(len, lists))
        ids = torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in lists])
        columns[name] = Sequences(ids, ids != PAD)
    return Batch(columns, ROUTE, torch.arange(len(rows)), sum(map(len, rows)))


@pytest.mark.parametrize("reward, entropy, baseline", [(1.0, 0.0, 0.0), (1.0, 0.3, -1.5), (0.4, 0.1, -3.0)])
def test_the_mean_of_many_draws_is_the_gradient_of_all_of_them(reward, entropy, baseline, assert_agrees):
    """Within three standard deviations of the mean, as the enumeration tells them too."""
    model = Chooses()
    objective = ReinforceObjective(Context(model), reward=reward, entropy=entropy, samples=SAMPLES).double()
    objective.baseline.fill_(baseline)
    parameters = [model.scores, model.logits]
    found = torch.autograd.grad(objective.loss(batch_of([[WORD]]), "model").sum, parameters)
    log_shares = model.scores.log_softmax(dim=-1)
    shares = log_shares.exp()
    written = model.logits.log_softmax(dim=-1)[:, WORD]
    each: list[Sequence[Tensor]] = []
    for key in range(KEY):
        gained = written[key] + reward * (written[key].detach() - baseline) * log_shares[key]
        gained = gained - entropy * (shares * log_shares).sum()
        each.append(torch.autograd.grad(-gained, parameters, retain_graph=True))
    for place, mean in enumerate(found):
        of_keys = torch.stack([gradients[place] for gradients in each])
        law = shares.detach().view(-1, *(1,) * mean.dim())
        expected = (law * of_keys).sum(dim=0)
        deviation = ((law * (of_keys - expected).square()).sum(dim=0) / SAMPLES).sqrt()
        assert bool(((mean - expected).abs() <= 3 * deviation + 1e-12).all())
    if reward == 1.0:
        bound = (shares * written).sum() - entropy * (shares * log_shares).sum()
        exact = torch.autograd.grad(-bound, parameters)
        for place, gradient in enumerate(exact):  # the estimator is of the gradient of the bound itself
            whole = (shares.detach().view(-1, *(1,) * gradient.dim()) * torch.stack([one[place] for one in each])).sum(
                0
            )
            assert_agrees("A11", whole, gradient, 1e-12)


def test_the_baseline_is_the_moving_average_per_word_and_is_saved():
    model = Chooses()
    objective = ReinforceObjective(Context(model)).double()
    wanted = 0.0
    for _ in range(3):
        loss = objective.loss(batch_of([[WORD]]), "model")
        wanted = 0.9 * wanted - 0.1 * float(loss.parts["loss"])
    assert float(objective.baseline) == pytest.approx(wanted)
    again = ReinforceObjective(Context(model)).double()
    again.load_state_dict(objective.state_dict())
    assert float(again.baseline) == float(objective.baseline)
    objective.eval().loss(batch_of([[WORD]]), "model")
    assert_close(objective.baseline, again.baseline)


def translator(decoder: str, weighting: str = "hard", num_heads: int = 2) -> Translator:
    parts = {"transformer": {"num_layers": 2, "feedforward_dim": 8}, "recurrent": {"hidden_dim": 8}}
    order = {"order": decoder} if decoder != "transformer" else {}
    name = "transformer" if decoder == "transformer" else "recurrent"
    settings = dict(
        dim=8,
        encoder=Choice("transformer", parts["transformer"]),
        decoder=Choice(name, {**parts[name], **order}),
        attention=AttentionSettings(num_heads=num_heads, weighting=Choice(weighting)),
        self_attention=AttentionSettings(num_heads=2, weighting=Choice(weighting)),
        dropout=0.0,
    )
    return build_translator(settings, 9, 9).double().eval()


@pytest.mark.parametrize("decoder", ["transformer", "luong", "bahdanau"])
def test_a_batch_is_the_sum_of_its_sentences(decoder):
    """Words of padding neither look nor count, whichever attention of encoder and decoder draws."""
    model = translator(decoder)
    objective = ReinforceObjective(Context(model), entropy=0.3).double().eval()
    objective.baseline.fill_(-1.0)
    targets, sources = [[5, 6, 7, EOS], [4, EOS]], [[4, EOS], [8, 5, 5, 6, EOS]]
    whole = objective.loss(batch_of(targets, sources), "model")
    alone = [objective.loss(batch_of([one], [two]), "model") for one, two in zip(targets, sources, strict=True)]
    assert_close(whole.sum, sum(loss.sum for loss in alone))
    assert whole.count == sum(loss.count for loss in alone)
    for part in PARTS:
        assert_close(whole.parts[part], sum(loss.parts[part] for loss in alone))
        assert not whole.parts[part].requires_grad
    assert float(whole.parts["entropy"]) > 0 > float(whole.parts["log_prob"])


def test_long_and_short_sentences_share_a_baseline_per_word():
    model = translator("luong")
    objective = ReinforceObjective(Context(model)).double()
    loss = objective.loss(batch_of([[5, 6, 7, EOS], [4, EOS]]), "model")
    assert float(objective.baseline) == pytest.approx(-0.1 * float(loss.parts["loss"]) / 6)


def test_several_draws_are_a_mean():
    """Without draws they are all the same."""
    model, batch = translator("transformer"), batch_of([[5, 6, 7, EOS], [4, EOS]])
    one, many = (
        ReinforceObjective(Context(model), samples=samples).double().eval().loss(batch, "model") for samples in (1, 3)
    )
    assert_close(many.sum, one.sum)
    assert_close(many.parts, one.parts)
    assert many.count == one.count


def test_the_loss_is_the_negated_likelihood_where_nothing_was_drawn():
    """All sentences soft: what remains is maximum likelihood, and the entropy."""
    model = translator("luong").train()
    for attention in (module for module in model.modules() if isinstance(module, Attention)):
        attention.weighting.soft_probability = 1.0
    batch = batch_of([[5, 6, 7, EOS], [4, EOS]])
    loss = ReinforceObjective(Context(model), entropy=0.0).double().loss(batch, "model")
    assert_close(loss.sum, model.nll(batch).sum())


def test_a_model_that_draws_nothing_is_refused():
    with pytest.raises(
        ConfigError, match=r"objective: 'reinforce' finds no attention that samples \(attention.weighting=hard"
    ):
        ReinforceObjective(Context(translator("luong", "softmax"))).loss(batch_of([[5, EOS]]), "model")


def test_no_sample_at_all_is_refused():
    with pytest.raises(ConfigError, match=r"objective\.samples: must be at least 1, not 0"):
        OBJECTIVES.build(Choice("reinforce", {"samples": 0}), Context(Chooses()))
