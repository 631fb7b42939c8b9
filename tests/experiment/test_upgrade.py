"""Runs of the first format are read as this version writes them."""

import pytest
import yaml

from regard.errors import ConfigError
from regard.experiment import load_experiment, read_experiment

TRANSLATION = {
    "data": {"dir": None, "source": "/a.en", "target": "/a.de", "dev_source": "/b.en", "dev_target": "/b.de",
             "test_source": None, "test_target": None, "text": None, "train": None, "dev": None, "test": None,
             "languages": ["en", "de"], "max_length": 99},
    "model": {"dim": 64, "encoder": {"name": "recurrent", "hidden_dim": 32}, "tied": "none"},
    "training": {"max_updates": 7},
    "task": "translation",
    "format": 1,
}  # fmt: skip
LANGUAGE = {
    "data": {"text": "/a.txt", "dev": {"name": "documents", "files": {"text": "/b"}, "index": "/i"}},
    "model": {"dim": 64, "encoder": "transformer", "attention": {"num_heads": 4}, "decoder": "recurrent"},
    "task": {"name": "language_model", "window": 20},
    "format": 1,
}


@pytest.fixture
def saved(tmp_path):
    def save(settings):
        (tmp_path / "experiment.yaml").write_text(yaml.safe_dump(settings))
        return load_experiment(tmp_path / "experiment.yaml")

    return save


def test_files_of_format_one_become_parts(saved):
    experiment = saved(TRANSLATION)
    assert experiment.data.train == ("parallel", {"files": {"source": "/a.en", "target": "/a.de"}})
    assert experiment.data.dev.settings["files"] == {"source": "/b.en", "target": "/b.de"}
    assert (experiment.data.test, experiment.data.max_length, experiment.format) == (None, 99, 2)


def test_models_of_format_one_keep_their_settings(saved):
    name, settings = saved(TRANSLATION).model
    assert (name, settings["dim"], settings["tied"]) == ("translator", 64, "none")
    assert settings["encoder"].settings["hidden_dim"] == 32


def test_a_language_model_loses_what_it_never_had(saved):
    experiment = saved(LANGUAGE)
    assert experiment.model.name == "language_model"
    assert not {"encoder", "attention"} & experiment.model.settings.keys()
    assert experiment.data.train.settings["files"] == {"text": "/a.txt"}
    assert experiment.data.dev.name == "documents"


def test_a_config_with_old_names_is_told_the_new_ones(tmp_path):
    with pytest.raises(ConfigError) as told:
        read_experiment(None, ["data.source=a", "data.dev_target=b"])
    assert str(told.value).splitlines() == [
        "data.source: there is no such setting (write data.train.source)",
        "data.dev_target: there is no such setting (write data.dev.target)",
    ]
