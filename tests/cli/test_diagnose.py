"""regard evaluate --diagnose: what it needs is told in one line."""

import pytest
from small_runs import regard as call
from small_runs import unsaid


def test_a_file_of_translations_is_no_run(tmp_path):
    path = tmp_path / "answers.txt"
    path.write_text("eins\n", "utf-8")
    done = call("evaluate", path, "--diagnose")
    assert unsaid(done, "--diagnose: is for one run") == []


@pytest.mark.parametrize("count", [0, 2])
def test_one_run_alone_is_diagnosed(tmp_path, count):
    runs = [tmp_path / str(number) for number in range(count)]
    for run in runs:
        run.mkdir()
    done = call("evaluate", *runs, "--diagnose")
    assert done.code == 2
