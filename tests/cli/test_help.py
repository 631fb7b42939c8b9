"""regard help: what a setting means, where a config names it."""

import re
import shlex
from dataclasses import fields

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from regard.cli.app import COMMANDS, app
from regard.cli.help_page import shell_lines, text_and_examples
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
    name, meaning, kind = told("training.patience").splitlines()
    assert name == "training.patience" and kind == "    int >= 0 or null, default 10"
    assert meaning.startswith("    Early stopping")


def test_a_group_lists_its_settings():
    lines = told("training")
    assert lines.startswith("training: Training")
    assert "  patience\n      Early stopping" in lines and "  keep_best\n" in lines


def test_a_setting_of_parts_names_them():
    assert told("model.encoder.kernel").startswith("model.encoder.kernel (of bytenet, complex_layers, convolutional)\n")
    assert "choices: bytenet, complex_layers, convolutional" in told("model.encoder")
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
        ("model.encoder.kernal", "did you mean 'model.encoder.kernel'?"),
        ("trian", "did you mean 'train'?"),
        ("xyzzyx", "regard list have all names"),
        ("rane", "did you mean"),  # a part of 'trained' is no word
    ],
)
def test_an_unknown_name_gets_the_nearest(place, hint):
    line = told(place, code=2)
    assert line.startswith(f"error: {place}: is not a command, an option, a setting or a part") and hint in line


def test_an_option_is_explained_with_the_commands_that_have_it():
    lines = told("glossary").splitlines()
    assert "--glossary FILE" in lines
    assert [line.strip() for line in lines if "an option of" in line] == [
        "an option of regard explain",
        "an option of regard predict",
    ]


def test_a_word_that_names_nothing_lists_the_commands_about_it():
    lines = told("corrections").splitlines()
    assert {"regard teach", "regard undo"} <= {*lines[1::2]}
    teach = text_and_examples(get_command(app).commands["teach"].help)[0][0]
    assert lines[lines.index("regard teach") + 1] == f"    {teach}"


def test_help_of_a_command_is_its_page():
    page = CliRunner().invoke(app, ["data", "get", "--help"]).stdout
    assert told("data", "get") == page
    both = told("data")
    assert both.startswith("Usage: regard data COMMAND") and "\ndata: Data" in both


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("patience", ["training.patience\n"]),
        ("lr", ["lr: in Regard this is training.learning_rate=", "training.learning_rate\n    "]),
        ("beam_size", ["\n    example: regard predict RUN decoding.search.size=8"]),
        ("warmup", ["'training.schedule={name: inverse_sqrt, warmup: 4000}'"]),
        ("beam", ["decoding.search.size", "search\n  beam "]),
        ("bahdanau", ["model.attention.score=additive"]),
        ("transformer", ["encoder\n  transformer ", "decoder\n  transformer "]),
        ("model.encoder", ['default "transformer"']),
    ],
)
def test_help_finds_a_name_wherever_it_stands(name, parts):
    assert [one for one in parts if one not in told(name)] == []


def test_help_of_a_model_begins_with_the_translator():
    first = told("model.encoder").splitlines()[0]
    assert "translator" in first


def test_settings_of_back_translation_are_told():
    group = told("back_translation")
    assert all(f"\n  {field.name}\n" in group for field in fields(BackTranslationSettings))
    assert told("back_translation.rounds").splitlines()[::2] == ["back_translation.rounds", "    int >= 1, default 2"]
    assert "back_translation.search.beam" in told("back_translation.search.beam")
    assert "did you mean 'back_translation.rounds'?" in told("back_translation.round", code=2)
    assert "back_translation" in told()


def commands():
    """Every command and group, hidden ones too, by the words that call it."""

    def inside(group, words):
        for name, command in group.commands.items():
            yield [*words, name], command
            if hasattr(command, "commands"):
                yield from inside(command, [*words, name])

    return list(inside(get_command(app), []))


@pytest.mark.parametrize(("words", "command"), commands(), ids=lambda one: " ".join(one) if type(one) is list else "")
def test_a_page_has_types_and_fits_eighty_columns(words, command):
    values = [one for one in command.params if one.param_type_name == "option" and not one.is_flag]
    assert [one.name for one in values if not (one.metavar or "").isupper()] == []
    before = ["x"] if words[0] == "embeddings" and len(words) > 1 else []
    done = CliRunner().invoke(app, [*words[:1], *before, *words[1:], "--help"], env={"COLUMNS": "200"})
    assert done.exit_code == 0
    assert [line for line in done.stdout.splitlines() if len(line) > 80] == []


def test_every_example_names_a_command_and_its_options():
    for words, command in commands():
        for example in text_and_examples(command.help)[1]:
            _, *rest = shlex.split(example[example.index("regard ") :])
            group = get_command(app)
            while hasattr(group, "commands"):
                skipped = next(one for one in rest if one in group.commands)
                group, rest = group.commands[skipped], rest[rest.index(skipped) + 1 :]
            end = next((place for place, word in enumerate(rest) if word in "<>|"), len(rest))
            group.make_context(words[-1], rest[:end])  # ends with an error where it cannot be parsed


def test_commands_stand_in_groups():
    page = CliRunner().invoke(app, ["--help"]).stdout
    headings = [line for line in page.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings == ["Start:", "Improve a run:", "Understand:", "Research:", "Look up:", "Options:"]
    shown = re.findall(r"^  ([a-z][a-z-]*)  +[A-Z]", page, flags=re.MULTILINE)
    assert shown == [name for group in COMMANDS.values() for name in group]


def test_a_long_example_stays_one_command():
    command = 'regard explain runs/en-de "The old man reads a book." --method lrp --beside runs/other --html page.html'
    lines = list(shell_lines(command, 60))
    assert len(lines) > 1
    assert max(map(len, lines)) <= 60
    assert shlex.split("\n".join(lines).replace("\\\n", "")) == shlex.split(command)


def test_old_names_of_options_are_read_with_a_warning():
    found = get_command(app).commands["explain"]
    params = found.make_context("explain", ["runs/a", "a text", "--by=lrp", "--svg", "a.svg", "--png", "a.png"]).params
    assert (params["method"], [str(one) for one in params["plot"]]) == (["lrp"], ["a.svg", "a.png"])


def test_serve_reads_two_names_in_the_environment():
    serve = get_command(app).commands["serve"]
    port = next(one for one in serve.params if one.name == "port")
    assert port.envvar == ["REGARD_PORT", "LT_PORT"]
