"""The command that training ends with, for every task, and defaults by the data."""

import shlex

import pytest

from regard.cli.app import app
from regard.experiment import read_experiment
from regard.tasks import TASKS, task_class
from regard.tasks.task import usage_of

COMMANDS = {one.name for one in app.registered_commands} | {one.name for one in app.registered_groups}


@pytest.mark.parametrize("name", sorted(TASKS))
def test_usage_is_a_command_on_the_run(name):
    words = shlex.split(usage_of(task_class(name), "runs/a"))
    place = words.index("regard")
    assert words[place + 1] in COMMANDS
    assert words[place + 2] == "runs/a"


def test_usage_tells_the_fields_of_a_line():
    assert usage_of(task_class("pairs"), "a").endswith("< FILE (per line: first, a tab, second)")
    assert usage_of(task_class("classification"), "a").endswith("< FILE")


@pytest.mark.parametrize(
    ("first", "second", "changes", "metric"),
    [
        ("O", "B-A", [], "span_f1"),
        ("B-A", "I-A", [], "span_f1"),
        ("O", "B-A", ["training.metric=tag_accuracy"], "tag_accuracy"),
        ("DET", "NOUN", [], "tag_accuracy"),
    ],
)
def test_tags_of_spans_select_by_spans(tmp_path, first, second, changes, metric):
    (path := tmp_path / "a.conll").write_text(f"a\t{first}\ndog\t{second}\n\n" * 20, encoding="utf-8")
    experiment = read_experiment(None, [f"data.train={path}", "task=tagging", *changes])
    assert experiment.training.metric == metric
    assert ("span_f1" in [one.name for one in experiment.evaluation.metrics]) == (first != "DET")
