"""The command that training ends with, for every task."""

import shlex

import pytest

from regard.cli.app import app
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
