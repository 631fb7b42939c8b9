"""What `--text` gives names its task: by the answers that the reader of the file says it holds."""

import pytest

from regard.data.readers import READERS, reader_class
from regard.data.readers.parallel import ParallelReader
from regard.experiment import text_settings
from regard.experiment.layouts import default_task_of, holds_answers
from regard.tasks import TASKS, task_class

HOLDING = [name for name in READERS if reader_class(name).answers]


@pytest.mark.parametrize("name", HOLDING)
def test_a_reader_of_answers_has_one_default_task(name):
    """Whatever the order of the rows is."""
    held = [task for task in TASKS if task_class(task).files.default and holds_answers(name, task_class(task))]
    assert held == [default_task_of(name)]


def test_each_default_task_has_a_reader():
    assert {default_task_of(name) for name in HOLDING} == {name for name in TASKS if task_class(name).files.default}


@pytest.mark.parametrize("name", READERS)
def test_a_text_names_the_default_task_of_its_reader(name, monkeypatch):
    class Held(ParallelReader):
        """A new row of the table, for the ending of a file that is not there."""

    Held.answers = reader_class(name).answers
    monkeypatch.setitem(READERS._parts, "held", Held)
    changes, _ = text_settings("some.held")
    assert changes == [f"task.name={default_task_of(name) or 'language_model'}"]


@pytest.mark.parametrize(
    ("name", "task"),
    [("tsv", "classification"), ("conll", "tagging"), ("squad", "reading"), ("parallel", None), ("grids", None)],
)
def test_tables_name_a_classifier_and_columns_of_tags_a_tagger(name, task):
    assert default_task_of(name) == task
