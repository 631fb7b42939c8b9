"""The command that training ends with, for every task."""

import shlex

import pytest

from regard.cli.app import app
from regard.tasks import TASKS, task_class

COMMANDS = {one.name for one in app.registered_commands} | {one.name for one in app.registered_groups}


@pytest.mark.parametrize("name", sorted(TASKS))
def test_usage_is_a_command_on_the_run(name):
    words = shlex.split(task_class(name).usage("runs/a"))
    place = words.index("regard")
    assert words[place + 1] in COMMANDS
    assert words[place + 2] == "runs/a"


def test_usage_tells_the_fields_of_a_line():
    assert task_class("pairs").usage("a").endswith("< FILE, a line being first, a tab, second")
    assert task_class("classification").usage("a").endswith("< FILE")
