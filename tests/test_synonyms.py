"""Settings of other toolkits: every one leads to a setting or an option of Regard."""

import re
import shlex
from pathlib import Path

import pytest
from doc_blocks import check_command
from small_runs import regard, unsaid
from typer.main import get_command

from regard.cli.app import app
from regard.cli.help import pasteable_example
from regard.experiment.settings_help import describe
from regard.synonyms import SYNONYMS, hint_at

SETTINGS = sorted({one for ours in SYNONYMS.values() if "=" in ours for one in ours.split() if "=" in one})
OPTIONS = {option for command in get_command(app).commands.values() for one in command.params for option in one.opts}


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_synonym_names_a_setting(setting):
    place = setting.partition("=")[0].replace("optimizer.", "optimizer.adam.").replace("search.", "search.beam.")
    place = place.replace("tokenizer.", "tokenizer.subwords.")
    assert describe(place)[1]


@pytest.mark.parametrize("ours", sorted({ours for ours in SYNONYMS.values() if "=" in ours}))
def test_the_pasteable_example_a_synonym_is_read_by_the_command_line(ours):
    program, *words = shlex.split(pasteable_example(ours))
    assert program == "regard"
    check_command(words)


def test_a_synonym_names_an_option():
    named = {ours.split()[0] for ours in SYNONYMS.values() if ours.startswith("--")}
    assert named <= OPTIONS


@pytest.mark.parametrize(
    "name", ["lr", "batch_size", "epochs", "max_steps", "beam_size", "d_model", "nhead", "fp16", "label_smoothing"]
)
def test_names_of_other_toolkits_are_known(name):
    assert hint_at(f"--{name.replace('_', '-')}") == hint_at(name) != ""


def test_every_name_of_the_page_is_known():
    page = (Path(__file__).parents[1] / "docs/reference/other-toolkits.md").read_text("utf-8")
    rows = [line.split("|")[2:-1] for line in page.splitlines() if line.startswith("| `")]
    names = {name.partition(":")[0] for row in rows for cell in row for name in re.findall(r"`([^`]+)`", cell)}
    assert len(names) > 60
    assert [name for name in sorted(names) if not hint_at(name)] == []


def test_a_setting_of_another_toolkit_names_ours(tmp_path):
    words = ["train", "--source", tmp_path / "a", "--target", tmp_path / "b"]
    assert unsaid(regard(*words, "training.lr=0.1"), "training.lr: ", "training.learning_rate=") == []
    assert unsaid(regard(*words, "model.beam_size=4"), "decoding.search.size=") == []


def test_an_option_of_another_toolkit_names_ours_with_its_value():
    assert unsaid(regard("train", "--max-steps", "300"), "--max-steps: ", "training.max_updates=300") == []
    assert unsaid(regard("train", "--lr=0.01"), "--lr: ", "training.learning_rate=0.01") == []
    assert unsaid(regard("predict", "--model", "runs/a"), "RUN, the first argument") == []
    assert unsaid(regard("train", "--sauce", "a"), "No such option: --sauce") == []
