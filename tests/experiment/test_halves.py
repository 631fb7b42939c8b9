"""A norm of half a batch by the other half, and an objective that learns from half of it: either alone is a fault."""

import pytest

from regard.errors import ConfigError
from regard.experiment import read_experiment

BYTENET = ["model.encoder=bytenet", "model.decoder=bytenet"]
LANGUAGE = ["task.name=language_model", "model.decoder=bytenet"]


@pytest.fixture
def faults(tmp_path):
    """What is wrong with an experiment of these changes."""
    for name in ("a.en", "a.de"):
        (tmp_path / name).write_text("one\ntwo\nthree\n")

    def told(*changes: str) -> list[str]:
        two = [f"data.source={tmp_path / 'a.en'}", f"data.target={tmp_path / 'a.de'}"]
        files = [f"data.text={tmp_path / 'a.en'}"] if "task.name=language_model" in changes else two
        try:
            read_experiment(None, [*files, *changes])
        except ConfigError as error:
            return str(error).splitlines()
        return []

    return told


@pytest.mark.parametrize("objective", ["likelihood", "reinforce"])
@pytest.mark.parametrize("part", ["encoder", "decoder"])
def test_the_norm_without_the_objective(faults, part, objective):
    assert faults(*BYTENET, f"model.{part}.norm=sub_batch", f"objective={objective}") == [
        f"model.{part}.norm: 'sub_batch' normalises half of a batch by the other, and objective '{objective}' learns "
        "from both (objective=sub_batch, or another norm)"
    ]


def test_the_norm_is_found_inside_of_other_parts(faults):
    inner = "model.encoder={name: sequential, encoders: [recurrent, {name: bytenet, norm: sub_batch}]}"
    (line,) = faults(inner)
    assert line.startswith("model.encoder.encoders.1.norm: 'sub_batch'")


@pytest.mark.parametrize("norms", [[], ["model.decoder.norm=cumulative"]])
def test_the_objective_without_the_norm(faults, norms):
    assert faults(*BYTENET, *norms, "objective=sub_batch") == [
        "objective: 'sub_batch' learns from half of each batch, and no norm of the model needs the other half "
        "(objective=likelihood, or a model whose norm is sub_batch)"
    ]
    assert faults("objective=sub_batch")[0].startswith("objective: ")  # transformers' norm is a place


def test_every_fault_is_told_at_once(faults):
    found = faults(*BYTENET, "model.encoder.norm=sub_batch", "model.decoder.norm=sub_batch", "training.metric=bleuu")
    assert [line.partition(":")[0] for line in found] == ["training.metric", "model.encoder.norm", "model.decoder.norm"]


@pytest.mark.parametrize(
    "changes",
    [
        BYTENET,
        [*BYTENET, "model.encoder.norm=sub_batch", "objective=sub_batch"],
        [*BYTENET, "model.decoder.norm={name: sub_batch, momentum: 0.2}", "objective=sub_batch"],
        [*BYTENET, "model.decoder.norm=cumulative"],
        [*LANGUAGE, "model.decoder.norm=sub_batch", "objective=sub_batch"],
    ],
    ids=str,
)
def test_what_fits_is_taken(faults, changes):
    assert faults(*changes) == []


def test_a_language_model_is_judged_by_its_decoder(faults):
    (line,) = faults(*LANGUAGE, "objective=sub_batch")
    assert line.startswith("objective: 'sub_batch' learns from half")
