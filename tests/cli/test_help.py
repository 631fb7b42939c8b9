"""regard help: what a setting means, where a config names it."""

from dataclasses import fields

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from regard.cli.app import app
from regard.experiment import schema
from regard.experiment.settings_help import describe, places
from regard.recipes.one_language import BackTranslationSettings

TOP = ("data", "text", "training", "decoding", "evaluation", "init")


def told(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["help", *words])
    assert done.exit_code == code, done.stderr
    return done.stderr if code else done.stdout


def test_every_leaf_of_the_schema_is_described():
    groups = schema()["properties"]
    bare = [name for name, group in groups.items() if not group.get("description")]
    for name in TOP:
        group = next((one for one in groups[name].get("anyOf", ()) if "properties" in one), groups[name])
        bare += [f"{name}.{leaf}" for leaf, about in group["properties"].items() if not about.get("description")]
    assert bare == []


def test_every_setting_of_every_part_is_described():
    found = list(places())
    assert len(found) > 250
    assert [f"{one.place} of {one.parts}" for one in found if not one.about] == []


def test_a_setting_is_told_with_its_type_and_default():
    assert told("training.patience").splitlines() == [
        "training.patience",
        "    End after so many validations in a row without a better score; null: never.",
        "    int >= 0 or null, default 10",
    ]


def test_a_group_lists_its_settings():
    lines = told("training")
    assert lines.startswith("training: How and how long the model is trained.\n")
    assert "  patience\n      End after" in lines and "  keep_best\n" in lines


def test_a_setting_of_parts_names_them():
    assert told("model.encoder.kernel").startswith("model.encoder.kernel (of bytenet, convolutional)\n")
    assert "choices: bytenet, convolutional" in told("model.encoder")
    assert "settings of one of them: regard help model.encoder.transformer\n" in told("model.encoder")
    assert told("model.translator.dim").startswith("model.translator.dim (of translator)\n")
    assert "  gate\n" in told("model.encoder.convolutional")


def test_defaults_that_differ_are_told_apart():
    _, found = describe("objective.label_smoothing")
    told = {part: one.default for one in found for part in one.parts}
    others = dict.fromkeys(("reinforce", "class_weighted", "with_language_model"), 0.0)
    smoothed = ("likelihood", "sub_batch", "r_drop", "minimum_risk", "self_critical", "adversarial_stability")
    taught = ("word_distillation", "sequence_distillation", "posterior_regularisation", "denoising_back_translation")
    assert told == {**dict.fromkeys((*smoothed, *taught), 0.1), **others}
    assert len(found) == 2


@pytest.mark.parametrize(
    "place", ["model.encoder.encoders.0.kernel", "data.corpora.web.file", "training.turns.critic.every"]
)
def test_names_of_items_stand_in_a_place(place):
    assert told(place).startswith(place)


@pytest.mark.parametrize(
    ("place", "hint"),
    [
        ("training.patiense", "did you mean 'training.patience'?"),
        ("trainning", "did you mean 'training'?"),
        ("patience", "did you mean training.patience or"),
        ("model.encoder.kernal", "did you mean 'model.encoder.kernel'?"),
        ("training.patience.more", "there is no such setting"),
    ],
)
def test_an_unknown_name_gets_the_nearest(place, hint):
    line = told(place, code=2)
    assert line.startswith(f"error: {place}: there is no such setting") and hint in line


def test_paragraphs_of_commands_are_broken_by_the_terminal_alone():
    def commands(group):
        for command in group.commands.values():
            yield command
            yield from commands(command) if hasattr(command, "commands") else ()

    found = list(commands(get_command(app)))
    assert len(found) > 20
    assert [one.name for one in found if "\n" in one.help.replace("\n\n", "")] == []


def test_settings_of_back_translation_are_told():
    group = told("back_translation")
    assert all(f"\n  {field.name}\n" in group for field in fields(BackTranslationSettings))
    assert told("back_translation.rounds").splitlines()[::2] == ["back_translation.rounds", "    int >= 1, default 2"]
    assert "back_translation.search.beam" in told("back_translation.search.beam")
    assert "did you mean 'back_translation.rounds'?" in told("back_translation.round", code=2)
    assert "back_translation" in told()
