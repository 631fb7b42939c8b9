"""The mean of several checkpoints."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from regard.training.best_checkpoints import average


def test_each_tensor_is_its_mean_by_hand():
    models = [
        {"a": torch.tensor([1.0, 2.0]), "b": torch.tensor(3.0)},
        {"a": torch.tensor([2.0, 6.0]), "b": torch.tensor(4.0)},
    ]
    found = average(models)
    assert found["a"].tolist() == [1.5, 4.0]
    assert found["b"].item() == 3.5


@given(st.floats(-(2.0**99), 2.0**99, width=32), st.integers(1, 9))
def test_equal_models_are_their_own_mean_bitwise(value, count):
    tensor = torch.full((2,), value)
    assert torch.equal(average([{"a": tensor}] * count)["a"], tensor)


def test_sums_are_taken_in_float64():
    models = [{"a": torch.tensor(value)} for value in (1e8, 1.0, -1e8)]
    assert_close(average(models)["a"], torch.tensor(1 / 3))


def test_kinds_are_kept():
    kinds = [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64]
    models = [{str(kind): torch.tensor([value], dtype=kind) for kind in kinds} for value in (1, 2)]
    assert {name: (str(one.dtype), one.item()) for name, one in average(models).items()} == {
        str(kind): (str(kind), 1.5) for kind in kinds
    }


def test_counters_are_those_of_the_first():
    models = [{"n": torch.tensor(7), "b": torch.tensor(True)}, {"n": torch.tensor(8), "b": torch.tensor(False)}]
    assert average(models) == models[0]


def test_the_models_stay_as_they_are():
    models = [{"a": torch.zeros(1)}, {"a": torch.ones(1)}]
    average(models)
    assert [model["a"].item() for model in models] == [0.0, 1.0]
