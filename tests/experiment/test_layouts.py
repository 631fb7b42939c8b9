"""What `--text` gives names its task: by what the reader of the file says that it holds."""

import pytest

from regard.data.readers import READERS, ParallelReader, reader_class
from regard.experiment import text_settings
from regard.tasks import TASKS, task_class

TASKS_OF = {"label": "classification", "span": "reading", "tags": "tagging"}  # by what files hold beside texts


@pytest.mark.parametrize("tells", TASKS_OF)
def test_a_reader_says_what_its_files_hold(tells, monkeypatch):
    class Held(ParallelReader):
        """A new row of the table."""

    Held.tells = tells
    monkeypatch.setitem(READERS._parts, "held", Held)
    changes, _ = text_settings("some.held")
    assert changes == [f"task.name={TASKS_OF[tells]}"]


def test_what_readers_tell_is_what_a_task_answers():
    assert {reader_class(name).tells for name in READERS} == {"", *TASKS_OF}
    assert all(task in TASKS and task_class(task).answer.name == tells for tells, task in TASKS_OF.items())
