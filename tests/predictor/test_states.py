"""Hidden states explained by words: what is conserved, how states are named, and what is told of unknown layers."""

import pytest
import torch
from classifiers import tiny_classifier_in
from engines import tiny_run_in
from small_runs import regard as call
from small_runs import unsaid
from torch.testing import assert_close

from regard import load
from regard.errors import RegardError
from regard.registry import Choice

EXACT = Choice("lrp", {"epsilon": 0.0, "biases": "distributed"})


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return tiny_run_in(tmp_path_factory.mktemp("run"))


@pytest.fixture
def predictor(run):
    return load(run, ["device=cpu"])


def states_of(predictor, prediction, module):
    """What a module of the model returns, in float64, as the answer is read."""
    model, found = predictor.model.double(), []
    hook = dict(model.named_modules())[module].register_forward_hook(lambda one, given, output: found.append(output))
    with torch.no_grad():
        model.nll(predictor.task.batch(predictor.encoder.encode_answered([prediction])))
    hook.remove()
    (output,) = found
    while not isinstance(output, torch.Tensor):
        output = output[0]
    return output[0]


@pytest.mark.parametrize(
    ("layer", "module"), [("encoder", "encoders.translate.encoder"), ("decoder", "decoders.translate")]
)
def test_words_together_have_the_sum_of_each_state(predictor, layer, module):
    predictions = predictor.predict(["a dog runs"])
    (found,) = predictor.explainer.state_relevance(predictions, EXACT, layer)
    (same,) = predictor.explainer.state_relevance(predictions, EXACT, module)
    assert same == found
    sums = states_of(predictor, predictions[0], module).sum(dim=-1)
    words = sum(torch.tensor(rows).sum(dim=1) for rows in found.values.values())
    assert_close(words.double(), sums, rtol=1e-4, atol=1e-6)
    assert_close(torch.tensor(found.totals).double(), sums, rtol=1e-4, atol=1e-6)


def test_states_have_the_names_of_their_words(predictor):
    predictions = predictor.predict(["a dog runs"])
    (source,) = predictor.explainer.state_relevance(predictions, "lrp", "encoder")
    assert source.items == source.tokens["source"]
    assert not torch.tensor(source.values["target"]).any()  # what is read knows nothing of what is written
    (target,) = predictor.explainer.state_relevance(predictions, "ding", "decoder")
    (answer,) = predictor.explainer.relevance(predictions, "lrp")
    assert target.items[: len(answer.items)] == answer.items  # the end of an answer that was cut off is no item
    (picture,) = predictor.explainer.with_state_relevance(predictions, "lrp", "encoder")
    assert picture.explanation.target_tokens == source.items


def test_states_of_a_classifier(tmp_path):
    predictor = load(tiny_classifier_in(tmp_path), ["device=cpu"])
    (found,) = predictor.explainer.state_relevance(predictor.predict(["a fine film"]), "lrp", "encoder")
    assert found.items == found.tokens["text"]


def test_an_unknown_layer_is_told_with_the_parts(predictor):
    with pytest.raises(RegardError, match=r"no layer 'encodr' in this model \(did you mean 'encoder'"):
        predictor.explainer.state_relevance(predictor.predict(["a dog"]), "lrp", "encodr")


def test_states_need_one_method(run):
    done = call("explain", run, "a dog", "device=cpu", "--of", "encoder")
    assert unsaid(done, "--of: needs one method", "--method lrp") == []
