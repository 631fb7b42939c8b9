"""Layer-wise relevance propagation: nets of two layers by hand, and what is conserved in every architecture."""

import pytest
import torch
from torch import nn, tensor
from torch.testing import assert_close
from weighted import QUESTIONS, translator

from regard.errors import RegardError
from regard.explain.relevance import RELEVANCES, Question, StateQuestion
from regard.registry import Choice

EXACT = {"epsilon": 0.0, "biases": "distributed"}


class Net(Question):
    """A function of one example's words, each a vector of one number; what is explained is all that it returns."""

    def __init__(self, function, *words):
        self.model, self.items, self.function = nn.Module(), tensor([0]), function
        self.words = tensor([[[float(word)] for word in words]], dtype=torch.float64)

    @property
    def vectors(self):
        return [self.words]

    def about(self, items):
        return self

    def answer(self, vectors):
        return self.function(vectors[0].flatten(1))


def lrp(question, **settings):
    """The relevance of every word, all columns in a row, and what it should sum to."""
    found = RELEVANCES.build(Choice("lrp", settings)).of(question)
    return torch.cat(found.words, dim=-1), found.total


def two_layers(bias):
    first, second = tensor([[1.0, 1.0], [-1.0, 1.0]]).double(), tensor([[2.0, -1.0]]).double()
    return lambda x: nn.functional.linear(nn.functional.linear(x, first, tensor([bias, 0.0]).double()).relu(), second)


@pytest.mark.parametrize(
    ("settings", "bias", "expected"),
    [  # z = (3, 1) + bias, y = 2 z_1 - z_2
        ({"epsilon": 0.0}, 0.0, [6 / 3 + 1, 6 * 2 / 3 - 2]),
        ({"epsilon": 0.0, "biases": "distributed"}, 1.0, [8 / 3 + 1, 8 * 2 / 3 - 2]),
        ({"epsilon": 0.0, "biases": "kept"}, 1.0, [8 / 4 + 1, 8 * 2 / 4 - 2]),
        ({"epsilon": 1.0}, 0.0, [5 / 4 + 5 / 12, 5 / 2 - 5 / 6]),  # 5/6 of (6, -1), then 3/4 and 1/2 of these
        ({"alpha": 2.0, "epsilon": 0.0}, 0.0, [10 / 3 + 5, 20 / 3 - 10]),  # (2 · 5, -5), then all of 10, 2 and -1 of -5
    ],
    ids=str,
)
def test_two_layers_by_hand(settings, bias, expected):
    found, total = lrp(Net(two_layers(bias), 1, 2), **settings)
    assert_close(found, tensor([expected]).double())
    assert_close(total, tensor([5.0 + 2 * bias]).double())


def test_a_gate_is_held_or_has_half():
    net = Net(lambda x: torch.sigmoid(x[:, :1]) * x[:, 1:], 1, 3)
    value = 3 / (1 + torch.e**-1)
    assert_close(lrp(net)[0], tensor([[0.0, value]]).double())
    assert_close(lrp(net, products="shared")[0], tensor([[value / 2, value / 2]]).double())


def test_two_values_share_their_product():
    assert_close(lrp(Net(lambda x: x[:, :1] * x[:, 1:], 2, -5))[0], tensor([[-5.0, -5.0]]).double())


def test_the_largest_word_takes_all():
    assert lrp(Net(lambda x: 2 * x.amax(dim=1, keepdim=True), 1, 4, 3))[0].tolist() == [[0.0, 8.0, 0.0]]


def test_what_is_written_in_place_is_followed():
    def net(x):
        memory = x.new_zeros(x.shape)
        memory.add_(x).mul_(3.0)
        return memory.sum(dim=1, keepdim=True)

    assert lrp(Net(net, 1, 2))[0].tolist() == [[3.0, 6.0]]


def test_constants_are_written_into():
    def net(x):
        factors = x.new_zeros(x.shape)
        factors[:, 1] = 4.0
        return (factors * x).sum(dim=1, keepdim=True)

    assert lrp(Net(net, 1, 2))[0].tolist() == [[0.0, 8.0]]


def test_held_attention_and_norms_are_a_gradient_with_these_detached():
    draws = [torch.randn(2, 2).double() for _ in range(3)]
    gain, shift = torch.randn(2).double(), torch.randn(2).double()

    def net(x, held=lambda one: one):
        words = torch.stack([x, x.roll(1, dims=1) - 1], dim=-1)  # (row, word, 2)
        queries, keys, values = (words @ one for one in draws)
        states = held((queries @ keys.transpose(1, 2)).softmax(dim=-1)) @ values + words
        deviation = held((states.var(dim=-1, correction=0, keepdim=True) + 1e-5).sqrt())
        normal = (states - states.mean(dim=-1, keepdim=True)) / deviation * gain + shift
        return normal.sum(dim=(1, 2)).unsqueeze(-1)

    def with_layer_norm(x):
        words = torch.stack([x, x.roll(1, dims=1) - 1], dim=-1)
        queries, keys, values = (words @ one for one in draws)
        states = (queries @ keys.transpose(1, 2)).softmax(dim=-1) @ values + words
        return nn.functional.layer_norm(states, (2,), gain, shift).sum(dim=(1, 2)).unsqueeze(-1)

    words = torch.randn(1, 3).double().requires_grad_()
    (slope,) = torch.autograd.grad(net(words, torch.Tensor.detach).sum(), words)
    found, _ = lrp(Net(with_layer_norm, *words[0].tolist()), epsilon=0.0)
    assert_close(found, (slope * words).detach(), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("settings", [EXACT, {**EXACT, "alpha": 2.0}, {**EXACT, "epsilon": 1e-9}], ids=str)
@pytest.mark.parametrize("name", QUESTIONS)
def test_all_words_together_have_the_score(name, settings):
    question = QUESTIONS[name]()
    for parameter in question.model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)  # biases, too
    found, total = lrp(question, **settings)
    assert_close(found.sum(dim=1), total, rtol=1e-4, atol=1e-5)


def test_the_score_that_is_explained_is_that_before_the_softmax():
    question = QUESTIONS["translator-gru"]()
    decoded, _ = question.model.decode(question.batch)
    head = question.model.heads["translate"]
    rows, target = torch.arange(len(question.items)), question.batch.sequences("target").items
    scores = (decoded.states @ head.weight.t())[rows, question.items].gather(1, target[:1].t()).squeeze(1)
    assert_close(lrp(question, **EXACT)[1], scores.detach())


def test_any_hidden_state_can_be_followed_back_to_the_words():
    question = translator("gru")
    one = question.batch.select(tensor([0]))
    for layer, places in (("encoders.translate.encoder", [0, 4]), ("decoders.translate", [2])):
        state = StateQuestion(question.model, one, ("source", "target"), layer, tensor(places))
        answer = state.answer(state.vectors).detach()
        found, total = lrp(state, **EXACT)
        assert_close(total, answer[torch.arange(len(places)), tensor(places)].sum(dim=-1))
        assert_close(found.sum(dim=1), total)


def test_an_operation_without_a_rule_is_told():
    with pytest.raises(RegardError, match="lrp has no rule for 'sin', which this model computes; try another method"):
        lrp(Net(lambda x: x.sin().sum(dim=1, keepdim=True), 1))


def test_a_function_of_two_words_is_told():
    with pytest.raises(RegardError, match="no rule for 'pow' of two that depend on the words"):
        lrp(Net(lambda x: x[:, :1].pow(x[:, 1:]), 2, 3))


def test_an_unknown_layer_is_told():
    question = translator("gru")
    with pytest.raises(
        RegardError, match=r"no layer 'encoder.translate' in this model \(did you mean 'encoders.translate'"
    ):
        StateQuestion(
            question.model, question.batch.select(tensor([0])), ("source", "target"), "encoder.translate", tensor([0])
        )
