"""Attention as a witness: the last layer's weights, and the product of all layers by hand."""

import pytest
import torch
from torch.testing import assert_close
from weighted import QUESTIONS, asked, classifier, example, sequences, translator

from regard.attention import recording
from regard.explain.relevance import RELEVANCES
from regard.registry import Choice

ROUNDED = {"rtol": 0.0, "atol": 1e-3}  # maps keep four digits


def words_of(question, name):
    return RELEVANCES.build(Choice(name)).of(question).words


def weights_of(question):
    """The mean of the heads of each attention, by its role: (query, key) of each layer."""
    found = {}
    with torch.no_grad(), recording(question.model) as records:
        question.model.nll(question.batch)
    for role, answers in records.values():
        weights = torch.cat([one.weights for one in answers], dim=-2)[0]
        found.setdefault((role.queries, role.keys), []).append(weights.mean(dim=0) if weights.dim() == 3 else weights)
    return found


def test_attention_is_that_of_the_last_layer():
    question = translator("transformer")
    weights = weights_of(question)
    source, target = words_of(question, "attention")
    assert_close(source.double(), weights["target", "source"][-1], **ROUNDED)
    assert_close(target.double(), weights["target", "target"][-1], **ROUNDED)


def test_rollout_is_the_product_of_all_layers():
    question = translator("transformer")
    weights, one = weights_of(question), torch.eye(4).double()
    read = torch.eye(5).double()
    for layer in weights["source", "source"]:
        read = (layer + torch.eye(5)) / 2 @ read
    own, seen = one, torch.zeros(4, 5).double()
    for itself, cross in zip(weights["target", "target"], weights["target", "source"], strict=True):
        own, seen = (itself + one) / 2 @ own, (itself + one) / 2 @ seen
        own, seen = own / 2, (seen + cross @ read) / 2
    source, target = words_of(question, "attention_rollout")
    assert_close(source.double(), seen, **ROUNDED)
    assert_close(target.double(), own, **ROUNDED)


def test_a_learned_question_is_that_of_the_label():
    question = classifier("transformer")
    ((pooled,),) = (weights_of(question)[role] for role in weights_of(question) if role[0] is None)
    assert_close(words_of(question, "attention")[0].double(), pooled, **ROUNDED)


@pytest.mark.parametrize("name", QUESTIONS)
def test_rollout_shares_out_one(name):
    parts = words_of(QUESTIONS[name](), "attention_rollout")
    assert_close(sum(part.sum(dim=1) for part in parts), torch.ones(len(parts[0])), **ROUNDED)


def test_a_network_without_attention_has_no_weights():
    settings = {"dim": 8, "pooling": Choice("mean"), "encoder": Choice("recurrent", {"hidden_dim": 4})}
    batch = example(text=sequences(5, 6), label=torch.tensor([1]))
    question = asked("classifier", settings, batch, ("text",), text=13, label=3)
    assert words_of(question, "attention")[0].abs().max() == 0
