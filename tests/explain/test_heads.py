"""Heads of attention: patterns of made maps; a closed gate is a head of zeros in W^O, slopes are finite differences."""

import math

import numpy as np
import pytest
import torch
from torch.testing import assert_close
from weighted import classifier, language_model, translator

from regard.attention import recording
from regard.explain.heads import PATTERNS, gate_slopes, gated, heads_in, largest_weights_of, pattern_of, patterns
from regard.results import AttentionMap, Explanation

SOURCE, TARGET = ["the", "old", "boat", "sank", "</s>"], ["das", "Boot", "</s>"]
COUNTS = {"the": 90, "old": 20, "boat": 2, "sank": 5, "das": 80, "Boot": 3}
SIDES = {"encoder": ("source", "source"), "decoder": ("target", "target"), "cross": ("target", "source")}


def shares(kind, *heads):
    """(head, pattern) of heads whose words look at these places alone, each a list of places."""
    queries, keys = SIDES[kind]
    width = len(SOURCE if keys == "source" else TARGET)
    rows = [[[float(key == place) for key in range(width)] for place in places] for places in heads]
    seen = AttentionMap("one", kind, 0, rows, queries, keys)
    found = Explanation.of_text(SOURCE, TARGET, [], [], [seen])
    return [
        dict(zip(PATTERNS, one, strict=True))
        for one in patterns([largest_weights_of(found, seen)], COUNTS).shares.tolist()
    ]


def test_positions_of_an_encoder():
    before, itself, behind = shares("encoder", [4, 0, 1, 2, 3], [0, 1, 2, 3, 4], [1, 2, 3, 4, 0])
    assert (before["previous"], before["same"], before["next"]) == (1.0, 0.0, 0.0)
    assert (itself["same"], itself["previous"]) == (1.0, 0.0)
    assert (behind["next"], behind["same"]) == (1.0, 0.0)
    assert math.isnan(itself["diagonal"])


def test_separators_and_rare_words():
    end, rare = shares("encoder", [4] * 5, [2] * 5)
    assert (end["separator"], end["rarest"]) == (1.0, 0.0)
    assert (rare["separator"], rare["rarest"]) == (0.0, 1.0)


def test_a_decoder_reads_a_word_after_it_was_written():
    """It reads <s>, das, Boot: the first place is a separator, and the first word has no choice."""
    start, last = shares("decoder", [0, 0, 0], [0, 1, 2])
    assert (start["separator"], start["previous"]) == (1.0, 0.5)
    assert (last["same"], last["separator"]) == (1.0, 0.0)
    assert last["rarest"] == 1.0  # of das and Boot, the one choice among words
    assert math.isnan(last["next"]) and math.isnan(last["diagonal"])


def test_the_diagonal_of_texts_of_other_lengths():
    """Words 0, 1 and 2 of three correspond to 0, 2 and 4 of five, give or take one."""
    along, across = shares("cross", [1, 1, 4], [4, 4, 0])
    assert (along["diagonal"], across["diagonal"]) == (1.0, 0.0)
    assert math.isnan(along["previous"])


def test_confidence_is_the_mean_of_the_largest_weights():
    seen = AttentionMap("one", "cross", 0, [[[0.5, 0.25, 0.25], [0.1, 0.9, 0.0], [0.0, 0.0, 0.0]]], "target", "source")
    found = Explanation.of_text(["a", "b", "</s>"], TARGET, [], [], [seen])
    assert patterns([largest_weights_of(found, seen)], {}).confidence.tolist() == [
        pytest.approx(0.7)
    ]  # a row that sees nothing


def test_examples_count_by_their_words():
    looks = []
    for places in ([0, 0], [0, 0, 1, 2]):
        seen = AttentionMap("one", "encoder", 0, [np.eye(len(places))[places].tolist()], "source", "source")
        looks.append(largest_weights_of(Explanation.of_text(["w"] * len(places), [], [], [], [seen]), seen))
    assert patterns(looks, {}).shares[0, PATTERNS.index("previous")] == 1.0  # one of one, and three of three
    assert math.isnan(patterns(looks, {}).shares[0, PATTERNS.index("rarest")])  # all are as rare


def test_a_head_is_named_by_what_most_words_do():
    assert pattern_of(np.array([0.2, 0.6, math.nan, math.nan, 0.5, 0.1])) == "same"
    assert pattern_of(np.array([0.2, 0.4, math.nan, math.nan, 0.3, 0.1])) == ""


MODELS = {"translator": translator, "classifier": classifier, "language_model": language_model}


@pytest.fixture(params=MODELS)
def question(request):
    found = MODELS[request.param]("transformer")
    for parameter in found.model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)  # biases, too
    return found


def nll(question):
    return question.model.nll(question.batch).detach()


def test_a_closed_gate_is_a_head_of_zeros(question):
    for name, (_, heads) in heads_in(question.model).items():
        for head in range(heads.num_heads):
            gates = torch.ones(heads.num_heads)
            gates[head] = 0.0
            with gated(question.model, {name: gates}):
                found = nll(question)
            before = heads.to_out.weight.detach().clone()
            with torch.no_grad():
                heads.to_out.weight[:, head * heads.head_dim : (head + 1) * heads.head_dim] = 0.0
                expected = nll(question)
                heads.to_out.weight.copy_(before)
            assert_close(found, expected)
            assert not torch.allclose(found, nll(question))


def test_compiled_code_gives_way_to_gates():
    model, batch = (question := translator("transformer")).model.float(), question.batch
    name, (_, heads) = next(iter(heads_in(model).items()))
    with torch.inference_mode():
        before = model.nll(batch)
        with gated(model, {name: torch.zeros(heads.num_heads)}):
            assert not torch.allclose(model.nll(batch), before)
        assert torch.equal(model.nll(batch), before)


def test_gates_leave_weights_as_they_are(question):
    name, (_, heads) = next(iter(heads_in(question.model).items()))
    seen = []
    for gate in (torch.ones(heads.num_heads), torch.zeros(heads.num_heads)):
        with gated(question.model, {name: gate}), recording(question.model) as records:
            nll(question)
        seen.append(records[name].answers[0].weights)
    assert_close(*seen)


def test_slopes_are_finite_differences(question):
    one = question.batch.select(torch.tensor([0]))
    slopes, step, known = gate_slopes(question.model, one), 1e-5, heads_in(question.model)
    assert slopes.keys() == known.keys()
    for name, (_, heads) in known.items():
        for head in range(heads.num_heads):
            losses = []
            for sign in (1, -1):
                gate = torch.ones(heads.num_heads, dtype=torch.float64)
                gate[head] += sign * step
                with gated(question.model, {name: gate}):
                    losses.append(question.model.nll(one).sum() / question.model.counted(one).sum())
            assert_close(slopes[name][head], ((losses[0] - losses[1]) / (2 * step)).detach(), rtol=1e-5, atol=1e-8)


def test_a_model_without_heads_has_none():
    assert heads_in(classifier("gru").model) == {}
