"""Settings that leave a search nothing to find are refused where they are read."""

import pytest

from regard.config import read_settings
from regard.errors import ConfigError
from regard.experiment.settings import DecodingSettings

WRONG = [
    ("sampling", "temperature", 0.0),
    ("sampling", "top_p", 0.0),
    ("sampling", "top_p", 1.5),
    ("sampling", "top_k", -1),
    ("sampling", "n_best", 0),
    ("beam", "n_best", 0),
    ("beam", "size", 0),
    ("beam", "length_penalty", 5.5),
    ("beam", "length_penalty", -6.0),
    ("greedy", "max_extra", 0),
]


@pytest.mark.parametrize(("search", "name", "value"), WRONG)
def test_a_search_must_be_able_to_find_something(search, name, value):
    with pytest.raises(ConfigError, match=rf"search\.{name}.* not {value}"):
        read_settings(DecodingSettings, {"search": {"name": search, name: value}})


@pytest.mark.parametrize(("feature", "name", "value"), [("no_repeat", "size", 0), ("coverage", "min_attention", 0.0)])
def test_a_feature_must_have_something_to_count(feature, name, value):
    with pytest.raises(ConfigError, match=rf"features.*{name}.* not {value}"):
        read_settings(DecodingSettings, {"features": {"name": feature, name: value}})
