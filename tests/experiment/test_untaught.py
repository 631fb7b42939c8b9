"""An attention that only draws, and an objective that rewards no draw: together they are told in one line."""

import warnings

import pytest

from regard.experiment import read_experiment
from regard.runs.rehearsal import Rehearsal

HARD = "model.attention={weighting: {name: hard, soft_probability: 0}, num_heads: 1}"


@pytest.fixture
def told(tmp_path):
    """The warnings of an experiment with these changes."""
    for name in ("train.en", "train.de"):
        (tmp_path / name).write_text("one\ntwo\nthree\n")
    files = [f"data.train.source={tmp_path / 'train.en'}", f"data.train.target={tmp_path / 'train.de'}"]

    def warned(*changes: str) -> list[str]:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            Rehearsal(read_experiment(None, [*files, *changes])).check_parts()
        return [str(one.message) for one in found]

    return warned


def test_draws_that_nothing_rewards_are_told(told):
    assert told(HARD) == [
        "model.attention: never learns: its weighting only samples, and the objective rewards no sample "
        "(objective=reinforce with a reward above 0, or a soft_probability above 0)"
    ]


def test_a_reward_of_nothing_rewards_nothing(told):
    (line,) = told(HARD, "objective={name: reinforce, reward: 0}")
    assert line.startswith("model.attention: never learns")


def test_each_socket_is_told(told):
    (line,) = told("model.self_attention={weighting: {name: hard, soft_probability: 0}}")
    assert line.startswith("model.self_attention: never learns")


@pytest.mark.parametrize(
    "changes",
    [
        [HARD, "objective=reinforce"],
        ["model.attention={weighting: hard, num_heads: 1}"],  # half of the rows are soft
        ["model.attention={weighting: gumbel}"],
        [],
    ],
    ids=str,
)
def test_what_can_learn_is_not_told(told, changes):
    assert told(*changes) == []


def test_a_socket_that_is_not_there_is_told_as_that(told):
    (line,) = told(HARD, "model.decoder={name: recurrent, source_context: final}", "model.encoder=recurrent")
    assert "model.attention changes nothing" in line
