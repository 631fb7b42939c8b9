"""Encoders made of encoders made of encoders: read, refused at their place, saved, and described."""

import json
from dataclasses import replace

import pytest

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


def test_the_schema_describes_two_levels_and_names_the_third():
    (row,) = [
        one
        for one in schema()["properties"]["model"]["anyOf"]
        if one.get("properties", {}).get("name") == {"const": "translator"}
    ]
    assert "name" not in row["required"]
    encoder = row["properties"]["encoder"]
    for _ in range(2):
        (parallel,) = [
            one for one in encoder["anyOf"] if one.get("properties", {}).get("name") == {"const": "parallel"}
        ]
        encoder = parallel["properties"]["encoders"]["items"]
    names, group = encoder["anyOf"]
    assert "parallel" in names["enum"] and group["properties"] == {"name": names}
    assert len(json.dumps(row)) < 400_000
