"""Encoders made of encoders made of encoders: read, refused at their place, saved, and described."""

import json
from dataclasses import replace

import pytest
from jsonschema import Draft202012Validator

from regard.config import parse_changes
from regard.errors import ConfigError
from regard.experiment import load_experiment, schema

HYBRID = (
    "model.encoder={name: parallel, encoders: [{name: sequential, encoders: [convolutional, {name: parallel, "
    "encoders: [recurrent, %s]}]}, self_attention]}"
)


def test_they_are_read_and_saved(tmp_path):
    experiment = load_experiment(None, [HYBRID % "transformer"])
    inner = experiment.model.settings["encoder"].settings["encoders"][0].settings["encoders"][1]
    assert [one.name for one in inner.settings["encoders"]] == ["recurrent", "transformer"]
    replace(experiment, run=tmp_path).save(tmp_path / "experiment.yaml")
    assert load_experiment(tmp_path / "experiment.yaml").model == experiment.model


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ("strange", ": there is no 'strange'"),
        ("{name: transformer, layers: 2}", ".layers: there is no such setting"),
        ("{name: recurrent, num_layers: 0}", ".num_layers: must be at least 1"),
    ],
)
def test_a_fault_inside_has_its_whole_place(part, told):
    with pytest.raises(ConfigError) as caught:
        load_experiment(None, [HYBRID % part])
    assert str(caught.value).startswith(f"model.encoder.encoders.0.encoders.1.encoders.1{told}")


def test_an_item_is_changed_by_its_number(tmp_path):
    (tmp_path / "config.yaml").write_text("model: {encoder: {name: sequential, encoders: [convolutional, recurrent]}}")
    experiment = load_experiment(tmp_path / "config.yaml", ["model.encoder.encoders.0.num_layers=1"])
    assert experiment.model.settings["encoder"].settings["encoders"][0].settings["num_layers"] == 1


def test_the_schema_describes_parts_of_parts_at_any_depth():
    found = schema()
    checker = Draft202012Validator(found)
    assert len(json.dumps(found)) < 1_000_000
    for inner, fits in (("transformer", True), ("{name: recurrent, num_layers: 0}", False), ("strange", False)):
        assert checker.is_valid(parse_changes([HYBRID % inner])) == fits, inner
