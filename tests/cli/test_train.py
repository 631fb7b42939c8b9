"""The words of `regard train` → an experiment."""

from pathlib import Path

import pytest
from small_runs import regard, unsaid

from regard.config import parse_changes, quoted
from regard.runs.request import config_and_changes


@pytest.mark.parametrize(
    ("words", "split"),
    [
        ([], (None, [])),
        (["config.yaml"], (Path("config.yaml"), [])),
        (["config.yaml", "a=1"], (Path("config.yaml"), ["a=1"])),
        (["a=1", "b=2"], (None, ["a=1", "b=2"])),
    ],
)
def test_the_first_word_may_be_a_config(words, split):
    assert config_and_changes(words) == split


def test_a_config_may_have_an_equals_sign_in_its_name(tmp_path):
    (tmp_path / "dim=8.yaml").touch()
    assert config_and_changes([str(tmp_path / "dim=8.yaml"), "a=1"]) == (tmp_path / "dim=8.yaml", ["a=1"])


@pytest.mark.parametrize(
    "name", ["no", "1: a", "#x", "it's", "@home", "[a", "", "true", "a\\b", "a\nb", "\udcff.en", "\x00", "\U0010fffe"]
)
def test_any_file_name_may_be_given(name):
    assert parse_changes([f"data.train.source={quoted(name)}"]) == {"data": {"train": {"source": name}}}


def test_the_hint_at_a_setting_of_another_toolkit_is_an_example(tmp_path):
    assert unsaid(regard("train", tmp_path / "a.tsv", "lr=0.1"), "lr: ", "for example: training.learning_rate=") == []
