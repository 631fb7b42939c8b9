"""What every row of OBJECTIVES keeps: it owns what only training needs, and nothing of the model."""

import copy

import pytest
from torch import Tensor, nn

from regard.data.columns import small_columns
from regard.decoding import BeamSearch
from regard.errors import ConfigError
from regard.experiment import load_experiment
from regard.models import Model
from regard.objectives import OBJECTIVES, Context, Objective
from regard.registry import Choice
from regard.runs.run import model_of, task_of

NEEDED = {"teacher": "run", "features": [Choice("length_ratio")]}  # settings without a default, by name
KINDS = (
    ["model.dim=8"],
    ["model={name: many_to_many, languages: [en, de], dim: 8}"],
    ["task=classification", "model.dim=8"],
    ["task=cipher", "model.dim=8"],
    ["task=classification", "model.name=causal_classifier", "model.dim=8"],
)


def choice_of(name: str) -> Choice:
    return Choice(name, {one: value for one, value in NEEDED.items() if one in OBJECTIVES.settings(name)})


def built(name: str) -> tuple[Objective, Model]:
    """An objective with the first kind of model that it takes."""
    for changes in KINDS:
        experiment = load_experiment(None, ["data.train.source=a", "data.train.target=b", *changes])
        columns = small_columns(experiment.vocabularies, shared=True)
        model = model_of(experiment, columns)
        context = Context(
            model, task_of(experiment, columns), BeamSearch(), load=lambda _, one=model: copy.deepcopy(one)
        )
        try:
            return OBJECTIVES.build(choice_of(name), context), model
        except ConfigError:
            continue
    raise AssertionError(f"no model of KINDS goes with {name}")


def places(tensors: list[Tensor]) -> set[int]:
    return {tensor.untyped_storage().data_ptr() for tensor in tensors}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_an_objective_holds_no_tensor_of_the_model(name):
    objective, model = built(name)
    own = [*objective.state_dict().values(), *objective.parameters(), *objective.buffers()]
    assert places(own) & places([*model.parameters(), *model.buffers()]) == set()


@pytest.mark.parametrize("name", OBJECTIVES)
def test_an_objective_of_the_same_settings_takes_its_state(name):
    objective, again = built(name)[0], built(name)[0]
    again.load_state_dict(objective.state_dict())
    assert {*again.state_dict()} == {*objective.state_dict()}


@pytest.mark.parametrize("name", [name for name in OBJECTIVES if OBJECTIVES[name].writes])
def test_targets_are_drawn_of_a_model_that_writes_uncompiled(name):
    objective, _ = built(name)
    with pytest.raises(ConfigError, match=r"objective: .*for models that write targets"):
        OBJECTIVES.build(choice_of(name), objective.context._replace(model=nn.Linear(1, 1)))
    with pytest.raises(ConfigError, match=rf"training\.compile: a search, as '{name}' needs it"):
        OBJECTIVES.build(choice_of(name), objective.context._replace(compiled=True))
