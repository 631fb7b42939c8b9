"""Settings of former releases: each old name is read, warned about once, and gives the same settings."""

import warnings
from pathlib import Path

import pytest
from torch import nn

from regard.config import parse_changes, read_settings, spelled
from regard.experiment import Experiment, load_experiment, read_experiment
from regard.experiment.data import DataSettings, RecombinationSettings
from regard.experiment.tables import PARTS
from regard.registry import Choice
from regard.statistical.pair_checks import PAIR_CHECKS
from regard.synonyms import RENAMED_SETTINGS, renamed_number

GROUPS = {group.__name__: group for group in (DataSettings, RecombinationSettings)}
VALUES = {"kernel_sizes": [2, 3], "source_context": "final", "inference": "sample", "num_filters": 8}
TABLES = [*PARTS.values(), PAIR_CHECKS]
CASES = [
    pytest.param(table.model(part), old, new, id=f"{table.place}.{part}.{old}")
    for old, new, parts in RENAMED_SETTINGS
    for part in parts
    for table in TABLES
    if part in table and new in table.settings(part)
]


def said(settings, given):
    """The settings that are read, and the warnings about them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return settings.check(given), [str(one.message) for one in caught]


def value_of(settings, name):
    default = settings.model_fields[name].default
    return VALUES.get(name, not default if isinstance(default, bool) else 0.25 if isinstance(default, float) else 2)


@pytest.mark.parametrize(("settings", "old", "new"), CASES)
def test_an_old_name_is_read_with_one_warning(settings, old, new):
    needed = {name: f"{name}.tsv" for name, field in settings.model_fields.items() if field.is_required()}
    found, told = said(settings, {**needed, old: value_of(settings, new)})
    wanted, silent = said(settings, {**needed, new: value_of(settings, new)})
    assert found == wanted and new in found.model_fields_set
    assert silent == [] and len(told) == 1
    assert told[0].startswith(f"'{old}' of {settings.__name__} is now '{new}'")


def test_every_old_name_belongs_to_a_part_that_exists():
    known = {case.values[0].__name__ for case in CASES} | {*GROUPS}
    assert {part for _, _, parts in RENAMED_SETTINGS for part in parts} == known


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [(GROUPS[part], old, new) for old, new, parts in RENAMED_SETTINGS for part in parts if part in GROUPS],
)
def test_old_names_of_groups(kind, old, new):
    with pytest.warns(FutureWarning, match=f"'{old}' of {kind.__name__} is now '{new}'"):
        found = read_settings(kind, {old: 0.25})
    assert found == kind(**{new: 0.25})


OLD = ["data.dev_share=0.2", "model.decoder=recurrent", "model.decoder.reads=final", "decoding.adequacy.certain=0.7"]
NEW = [
    "data.dev_fraction=0.2",
    "model.decoder=recurrent",
    "model.decoder.source_context=final",
    "decoding.adequacy.min_confidence=0.7",
]
CONFIG = (
    "data: {test_share: 0.1}\nmodel: {decoder: {name: recurrent, copy_past: true}}\ndecoding: {adequacy: lexicon}\n"
)


def experiments(tmp_path, config, *changes):
    """The experiment of a config and changes, and the warnings about names."""
    (tmp_path / "config.yaml").write_text(config)
    files = {name: tmp_path / f"text.{name}" for name in ("source", "target")}
    for file in files.values():
        file.write_text("a dog runs\n" * 20)
    changes = ["model.name=translator", *(f"data.train.{name}={file}" for name, file in files.items()), *changes]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = read_experiment(tmp_path / "config.yaml", changes)
    return found, [str(one.message) for one in caught if issubclass(one.category, FutureWarning)]


def test_old_names_in_configs_and_changes_give_the_same_experiment(tmp_path):
    found, told = experiments(tmp_path, CONFIG, *OLD)
    present = CONFIG.replace("test_share", "test_fraction").replace("copy_past", "init_from_encoder")
    wanted, silent = experiments(tmp_path, present, *NEW)
    assert found == wanted and isinstance(found, Experiment)
    assert silent == []
    assert sorted(one.partition("'")[2].partition("'")[0] for one in told) == [
        "certain", "copy_past", "dev_share", "reads", "test_share",
    ]  # fmt: skip


def test_a_change_under_an_old_name_is_laid_on_the_new_one(tmp_path):
    config = "decoding: {adequacy: {name: lexicon, min_confidence: 0.5}}\n"
    found, _ = experiments(tmp_path, config, "decoding.adequacy.certain=0.75")
    assert found.decoding.adequacy == Choice("lexicon", {"min_confidence": 0.75, "min_count": 5})


def test_changes_are_renamed_where_they_are_read():
    with pytest.warns(FutureWarning, match="'reads' of"):
        found = parse_changes(["model.decoder.reads=final"], lambda settings: spelled(Experiment, settings))
    assert found == {"model": {"decoder": {"source_context": "final"}}}


def test_a_schedule_may_name_a_number_by_its_old_name():
    owner = nn.Module()
    owner.softmax_weight = 1.0
    assert renamed_number(owner, "share") == "softmax_weight"
    owner.share = 0.5
    assert renamed_number(owner, "share") == "share" and renamed_number(owner, "loss") == "loss"


def test_settings_of_a_saved_run_are_read_under_old_names(tmp_path):
    wanted, _ = experiments(tmp_path, CONFIG, *NEW)
    wanted.save(path := tmp_path / "experiment.yaml")
    text = path.read_text("utf-8")
    for old, new in (("dev_share", "dev_fraction"), ("reads", "source_context"), ("certain", "min_confidence")):
        assert f" {new}: " in text
        text = text.replace(f" {new}: ", f" {old}: ")
    path.write_text(text, "utf-8")
    with pytest.warns(FutureWarning) as told:
        assert load_experiment(path) == wanted
    assert len(told) == 3


def test_the_page_of_upgrades_has_every_renamed_setting():
    page = (Path(__file__).parents[2] / "docs/how-to/upgrade.md").read_text("utf-8")
    rows = [
        f"| `{old}` | `{new}` | {', '.join(f'`{part}`' for part in parts)} |" for old, new, parts in RENAMED_SETTINGS
    ]
    assert [row for row in rows if row not in page] == []
