"""Numbers that schedules drive, by their dotted names."""

import json
import math

import pytest

from regard.errors import ConfigError
from regard.objectives import Context, LikelihoodObjective
from regard.registry import Choice
from regard.training.schedules import Scheduled
from regard.training.settings import TrainingSettings

FALLING = Choice("linear", {"updates": 4})
SMOOTHING = "objective.label_smoothing"


@pytest.fixture
def parts(tiny):
    model = tiny(dropout=0.4)
    return model, LikelihoodObjective(Context(model), label_smoothing=0.2)


def scheduled_of(parts, **schedules):
    return Scheduled(TrainingSettings(schedules=schedules), *parts)


def dropout_name(model):
    """Some dropout of the model."""
    name = next(name for name, module in model.named_modules() if type(module).__name__ == "Dropout")
    return f"model.{name}.probability", model.get_submodule(name)


def test_an_attribute_of_the_objective_falls_from_what_it_was_built_with(parts):
    scheduled, found = scheduled_of(parts, **{SMOOTHING: FALLING}), []
    for update in range(1, 6):
        scheduled.apply(update)
        found.append(parts[1].label_smoothing)
    assert found == pytest.approx([0.15, 0.1, 0.05, 0.0, 0.0])


def test_a_number_of_a_module_of_the_model_is_driven(parts):
    name, module = dropout_name(parts[0])
    scheduled_of(parts, **{name: FALLING}).apply(2)
    assert module.probability == pytest.approx(0.2)


@pytest.mark.parametrize(
    "name",
    [
        *("", "label_smoothing", "objective", "objective.", "objective.smoothing", "objective.loss", "model.heads"),
        *("objective.training", "model.no.such.thing", "settings.learning_rate", "objective.label_smoothing.hex"),
    ],
)
def test_what_is_no_number_is_told(parts, name):
    with pytest.raises(ConfigError) as caught:
        scheduled_of(parts, **{name: FALLING})
    assert str(caught.value).startswith(f"training.schedules.{name}: names no number")
    assert "\n" not in str(caught.value)


def test_all_hear_of_validations(parts):
    plateau = Choice("plateau", {"patience": 1})
    scheduled = scheduled_of(parts, **{SMOOTHING: plateau})
    for score in (1.0, math.nan, 0.5):
        scheduled.observe(score, higher_is_better=True)
    scheduled.apply(1)
    assert parts[1].label_smoothing == pytest.approx(0.05)


def test_state_and_restore_go_on_as_if_unbroken(parts, tiny):
    plateau = Choice("plateau", {"patience": 2, "warmup": 4})
    first = scheduled_of(parts, **{SMOOTHING: plateau})
    model = tiny()
    again = (model, LikelihoodObjective(Context(model), label_smoothing=0.2))
    second = scheduled_of(again, **{SMOOTHING: plateau})
    first.observe(2.0, False)
    first.observe(3.0, False)
    first.apply(3)  # the objective's number is another one now; its peak is not
    second.restore(json.loads(json.dumps(first.state())))
    for update in range(4, 8):
        for scheduled in (first, second):
            scheduled.observe(2.5, False)
            scheduled.apply(update)
        assert parts[1].label_smoothing == again[1].label_smoothing
