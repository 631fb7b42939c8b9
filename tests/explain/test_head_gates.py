"""Gates of heads: a closed one is a head of zeros in W^O, and slopes are those of finite differences."""

import pytest
import torch
from torch.testing import assert_close
from weighed import classifier, language_model, translator

from regard.attention import recording
from regard.explain.head_gates import gate_slopes, gated, heads_in

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
