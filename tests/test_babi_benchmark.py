"""The table of the bAbI benchmark: rows that a second start finds again, and the best of several seeds."""

from benchmarks import benchmark

babi = benchmark("babi")
ROWS = [babi.Row(2, 1, 40.0, 0.9, 1.0), babi.Row(1, 1, 0.5, 0.1, 1.5), babi.Row(2, 2, 3.0, 0.2, 2.0)]


def test_rows_are_read_as_they_were_written(tmp_path):
    path = tmp_path / "runs" / "table.tsv"
    assert babi.read_rows(path) == []
    for row in ROWS:
        babi.add_row(path, row)
    assert babi.read_rows(path) == ROWS


def test_the_least_loss_chooses_and_the_mean_is_over_tasks():
    assert babi.best_rows(ROWS) == {1: ROWS[1], 2: ROWS[2]}
    lines = babi.summary(ROWS).splitlines()
    assert lines[2].split() == ["2", "3.0%", "2", "3.0"]  # the task, its error, seeds, minutes of both
    assert lines[-1].split()[1] == "1.8%"  # (0.5 + 3) / 2
    assert "0 with more than 5 %" in lines[-1]
    assert "1 with more than 5 %" in babi.summary(ROWS[:2])


def test_a_task_is_trained_and_told(tmp_path, monkeypatch):
    """A file of stories for the archive; one update."""
    stories = [f"1 Mary went to the {place}.\n2 Where is Mary?\t{place}\t1\n" for place in ("hall", "park")] * 8
    (tmp_path / "stories.txt").write_text("".join(stories))
    files = [f"data.{part}.file={tmp_path / 'stories.txt'}" for part in ("train", "test")]
    files.append(f"data.dev={{name: babi, file: '{tmp_path / 'stories.txt'}'}}")
    row = babi.train_task(babi.CONFIG, 1, 3, [*files, "training.max_updates=1"], tmp_path)
    assert (row.task, row.seed) == (1, 3)
    assert row.error in (0.0, 50.0, 100.0)  # of two kinds of questions
    assert row.dev_loss > 0
