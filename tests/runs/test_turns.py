"""Settings of turns: read, saved, filled up from those of training, refused where the objective has no such turn."""

import pytest
from small_runs import SMALL, regard, write_texts

from regard.errors import ConfigError
from regard.experiment import load_experiment, read_experiment
from regard.registry import Choice


def given(tmp_path, *changes):
    _, source, _, target = write_texts(tmp_path)
    return read_experiment(None, [*SMALL, f"data.train.source={source}", f"data.train.target={target}", *changes])


def test_a_turn_takes_what_it_lacks_from_training(tmp_path):
    turns = "training.turns={critic: {learning_rate: 0.5, every: 3}, model: {optimizer: {name: sgd, momentum: 0.5}}}"
    training = given(tmp_path, turns, "training.clip_norm=0.25").training
    critic, model = training.turn("critic"), training.turn("model")
    assert (critic.learning_rate, critic.every, critic.optimizer) == (0.5, 3, training.optimizer)
    assert (critic.schedule, critic.clip_norm) == (training.schedule, 0.25)
    assert model.optimizer == Choice("sgd", {"momentum": 0.5, "nesterov": False})
    assert (model.learning_rate, model.every) == (training.learning_rate, 1)


def test_turns_are_saved_as_they_are(tmp_path):
    experiment = given(tmp_path, "training.turns={critic: {clip_norm: 0.5, schedule: constant}}")
    experiment.save(tmp_path / "experiment.yaml")
    assert load_experiment(tmp_path / "experiment.yaml").training == experiment.training


@pytest.mark.parametrize(
    ("turns", "told"),
    [
        ("{critic: {evry: 2}}", "evry: there is no such setting (did you mean 'every'?)"),
        ("{critic: {every: 0}}", "every: "),
        ("{critic: {optimizer: adamm}}", "optimizer: there is no 'adamm'"),
    ],
)
def test_wrong_settings_of_a_turn_are_faults(tmp_path, turns, told):
    with pytest.raises(ConfigError) as caught:
        given(tmp_path, f"training.turns={turns}")
    assert "training.turns" in str(caught.value) and told in str(caught.value)


def test_a_turn_that_the_objective_lacks_is_refused(tmp_path):
    code, said, _ = regard(
        "train", *SMALL, *write_texts(tmp_path), "--run", tmp_path / "run", "training.turns={modell: {}}"
    )
    assert (code, (tmp_path / "run").exists()) == (2, False)
    assert "training.turns.modell: is not a turn of this objective (did you mean 'model'?)" in " ".join(said.split())
