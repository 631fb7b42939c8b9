"""Files and folders of shards: each row has its own answer, and nothing else is overwritten."""

import json
from dataclasses import asdict

import pytest
from pydantic import TypeAdapter

from regard.errors import ConfigError, DataError
from regard.recipes.shards import files
from regard.recipes.shards.files import Lines, Parquet, row_file
from regard.recipes.shards.plan import PredictOptions, ShardFolder, cut_files, join, mark_done, read_strings
from regard.recipes.shards.program import _check_free, _check_names, _check_same
from regard.recipes.shards.worker import ShardWorker

pyarrow = pytest.importorskip("pyarrow")
OPTIONS = PredictOptions("run")


def table_of(path, columns):
    from pyarrow import parquet

    parquet.write_table(pyarrow.table(columns), path)
    return Parquet(path, None)


def rows_of(path):
    from pyarrow import parquet

    return parquet.ParquetFile(path).read().to_pylist()


def test_answers_of_a_table_of_several_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_ROWS_AT_ONCE", 3)
    table = table_of(tmp_path / "a.parquet", {"text": [f"text {row}" for row in range(8)]})
    assert table.write(tmp_path / "b.parquet", (f"answer {row}" for row in range(8))) == 8
    assert rows_of(tmp_path / "b.parquet") == [
        {"text": f"text {row}", "prediction": f"answer {row}"} for row in range(8)
    ]
    assert table.write(tmp_path / "c.parquet", iter(["one", "two", "three", "four"])) == 4


def test_an_older_prediction_of_a_table_is_replaced(tmp_path):
    table = table_of(tmp_path / "a.parquet", {"prediction": ["old"], "text": ["a"]})
    table.write(tmp_path / "b.parquet", iter(["new"]))
    assert rows_of(tmp_path / "b.parquet") == [{"text": "a", "prediction": "new"}]


def cut(tmp_path, text="a\nb\nc\n", number=2):
    path, folder = tmp_path / "a.en", ShardFolder(tmp_path / "out")
    path.write_text(text)
    _check_free_of(folder, path)
    return folder, cut_files(
        folder, OPTIONS, {"weights of the run": "0"}, [row_file(path, None, as_json=False)], number
    )


def _check_free_of(folder, path):
    folder.path.mkdir(exist_ok=True)
    _check_free(folder, [Lines(path, None)])


def test_a_plan_is_read_as_it_was_written(tmp_path):
    folder, plan = cut(tmp_path)
    assert folder.plan() == plan
    assert TypeAdapter(PredictOptions).validate_json(json.dumps(asdict(OPTIONS))) == OPTIONS


def test_a_change_behind_the_first_mebibyte_is_seen(tmp_path):
    lines = ["a" * 2**20, "b", "c"]
    folder, plan = cut(tmp_path, "\n".join([*lines, ""]))
    for number, shard in enumerate(plan.shards):
        mark_done(folder, number, read_strings(folder.shard(number, "in"), shard.digest))
    (tmp_path / "a.en").write_text("\n".join([lines[0], "d", "c", ""]))
    with pytest.raises(DataError, match="was changed since"):
        join(folder, plan)


@pytest.mark.parametrize("name", ["weights of the run", "weights of b", "glossary"])
def test_another_digest_is_refused_by_its_name(tmp_path, name):
    folder, plan = cut(tmp_path)
    with pytest.raises(ConfigError, match=f"other {name}"):
        _check_same(folder, plan, OPTIONS, [Lines(tmp_path / "a.en", None)], {name: "1"})


def test_a_result_does_not_overwrite_a_file(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.en").write_text("precious\n")
    with pytest.raises(ConfigError, match="would be overwritten"):
        cut(tmp_path)


@pytest.mark.parametrize("name", ["plan.json", "joined.json", "slurm.sh", "shards"])
def test_names_of_the_folder_are_refused(tmp_path, name):
    with pytest.raises(ConfigError, match="--output itself"):
        _check_names([Lines(tmp_path / name, None)], tmp_path / "out")


def test_a_held_shard_is_waited_for(monkeypatch):
    worker, attempts = object.__new__(ShardWorker), []
    worker._check_parent = lambda: None
    worker.answer = lambda number: attempts.append(number) or number != 1 or attempts.count(1) == 3
    monkeypatch.setattr("regard.recipes.shards.worker._WAIT_SECONDS", 0.0)
    worker.finish(range(3))
    assert attempts == [0, 1, 2, 1, 1]
