"""Grades that a run keeps: of these weights alone, those of the same lines together."""

import pytest

from regard.runs.measurements import GRADES, Measurements


def measurements(path, digest="abc"):
    return Measurements(path, lambda: digest)


def test_grades_of_the_same_lines_stand_together(tmp_path):
    run = measurements(tmp_path)
    assert run.grades() is None
    run.keep_grades(40, {"lrp": 1, "random": 2})
    run.keep_grades(40, {"lrp": 3, "saliency": 4})
    assert run.grades() == {"lines": 40, "methods": {"lrp": 3, "random": 2, "saliency": 4}}
    run.keep_grades(20, {"lrp": 5})
    assert run.grades() == {"lines": 20, "methods": {"lrp": 5}}


def test_grades_of_other_weights_say_nothing(tmp_path):
    measurements(tmp_path).keep_grades(40, {"lrp": 1})
    trained = measurements(tmp_path, "abd")
    assert trained.grades() is None
    trained.keep_grades(40, {"saliency": 2})
    assert trained.grades() == {"lines": 40, "methods": {"saliency": 2}}


def test_damaged_grades_are_warned_of_and_not_used(tmp_path):
    run = measurements(tmp_path)
    run.keep_grades(40, {"lrp": 1})
    path = tmp_path / GRADES
    path.write_text(path.read_text("utf-8").replace("40", "41"), "utf-8")
    with pytest.warns(UserWarning, match=r"grades\.json: cannot be read.* regard explain .* --grade"):
        assert run.grades() is None
