"""Grades that a run keeps: of these weights alone, those of the same lines together."""

import pytest

from regard.runs.measurements import GRADES, keep_grades, kept_grades


class Folder:
    """A run whose weights are told by a word."""

    def __init__(self, path, weights):
        self.path, self.weights = path, weights

    def weights_digest(self):
        return self.weights


def test_grades_of_the_same_lines_stand_together(tmp_path):
    run = Folder(tmp_path, "abc")
    assert kept_grades(run) is None
    keep_grades(run, 40, {"lrp": 1, "random": 2})
    keep_grades(run, 40, {"lrp": 3, "saliency": 4})
    assert kept_grades(run) == {"lines": 40, "methods": {"lrp": 3, "random": 2, "saliency": 4}}
    keep_grades(run, 20, {"lrp": 5})
    assert kept_grades(run) == {"lines": 20, "methods": {"lrp": 5}}


def test_grades_of_other_weights_say_nothing(tmp_path):
    keep_grades(Folder(tmp_path, "abc"), 40, {"lrp": 1})
    trained = Folder(tmp_path, "abd")
    assert kept_grades(trained) is None
    keep_grades(trained, 40, {"saliency": 2})
    assert kept_grades(trained) == {"lines": 40, "methods": {"saliency": 2}}


def test_damaged_grades_are_warned_of_and_not_used(tmp_path):
    run = Folder(tmp_path, "abc")
    keep_grades(run, 40, {"lrp": 1})
    path = tmp_path / GRADES
    path.write_text(path.read_text("utf-8").replace("40", "41"), "utf-8")
    with pytest.warns(UserWarning, match=r"grades\.json: cannot be read.* regard explain .* --grade"):
        assert kept_grades(run) is None
