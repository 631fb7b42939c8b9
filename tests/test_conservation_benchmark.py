"""What relevance conserves and how far gradients are slopes, as the benchmark measures both."""

import pytest
import torch
from engines import tiny_run_in
from torch.testing import assert_close
from weighed import translator

from benchmarks import benchmark
from regard import load

conservation = benchmark("conservation")


@pytest.mark.parametrize("name", ["gru", "transformer"])
def test_gradients_are_slopes(name):
    exact, differences = conservation.slopes(translator(name), 1)
    assert exact.abs().max() > 1e-3
    assert_close(exact, differences.detach(), rtol=1e-5, atol=1e-7)


def test_a_wrong_gradient_is_told(monkeypatch):
    question = translator("transformer")
    right = conservation.gradients
    monkeypatch.setattr(conservation, "gradients", lambda *given: [1.01 * one for one in right(*given)])
    exact, differences = conservation.slopes(question, 1)
    assert not torch.allclose(exact, differences, rtol=1e-3)


def test_every_item_of_a_run_is_measured(tmp_path):
    predictor = load(tiny_run_in(tmp_path), ["device=cpu", "decoding.search=greedy"])
    rows = [{"source": "a dog runs"}, {"source": "two cats"}]
    found = conservation.measured(predictor, rows)
    assert found.examples == 2
    answers = predictor.answered(predictor.predict(rows))
    assert found.items == sum(len(one["target"]) + 1 for one in answers)  # the end is an item, too
    assert max(found.worst_missed, found.worst_slope) < 1e-6
