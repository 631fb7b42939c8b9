"""Bulk prediction in shards: the answers of `regard predict`, in order, whatever ends a process."""

import gzip
import json
import os
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest
import zstandard
from small_runs import PAIRS, SMALL, regard, unsaid, write_texts

from regard.data.readers.lines import read_lines
from regard.predictor import load
from regard.recipes.shards import program
from regard.recipes.shards.plan import ShardFolder, read_strings
from regard.recipes.shards.worker import ShardWorker
from regard.results import Prediction

pyarrow = pytest.importorskip("pyarrow")
TEXTS = [f"{PAIRS[row % 4][0]} {row}" for row in range(23)]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    options = [*write_texts(folder), "--run", folder / "run", "data.dev_fraction=0.3", "data.test_fraction=0"]
    assert regard("train", *options, *SMALL).code == 0
    return folder / "run"


@pytest.fixture(scope="module")
def answers(run):
    return [str(one) for one in load(run).translate(TEXTS)]


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "texts.en"
    path.write_text("".join(f"{text}\n" for text in TEXTS), encoding="utf-8")
    return path


def in_this_process(monkeypatch):
    """Lets the shards be answered here, by one worker."""

    def launch(self, folder, plan, workers, say):
        worker = ShardWorker(folder.path)
        for number in range(len(plan.shards)):
            worker.answer(number)

    monkeypatch.setattr("regard.recipes.shards.program.Processes.launch", launch)


def test_answers_of_two_processes_are_those_of_predict(run, lines, answers, tmp_path):
    done = regard("predict", run, lines, "--shards", 4, "--workers", 2, "-o", tmp_path / "out")
    assert done.code == 0
    assert list(read_lines(tmp_path / "out" / lines.name)) == answers
    assert not (tmp_path / "out" / "shards").exists()


@pytest.mark.parametrize("shards", [1, 5, 23, 100])
def test_kinds_of_files(run, lines, answers, tmp_path, monkeypatch, shards):
    in_this_process(monkeypatch)
    data = lines.read_bytes()
    (tmp_path / "a.en.gz").write_bytes(gzip.compress(data))
    (tmp_path / "b.en.zst").write_bytes(zstandard.ZstdCompressor().compress(data))
    rows = [{"id": row, "text": text, "source": f"other {row}"} for row, text in enumerate(TEXTS)]
    (tmp_path / "c.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "d.parquet")
    out, tables = tmp_path / "out", [tmp_path / "c.jsonl", tmp_path / "d.parquet"]
    packed = [tmp_path / "a.en.gz", tmp_path / "b.en.zst"]
    assert regard("predict", run, *packed, "--shards", shards, "-o", out).code == 0
    assert [list(read_lines(out / path.name)) for path in packed] == [answers, answers]
    assert regard("predict", run, *tables, "--shards", shards, "-o", tmp_path / "2", "--column", "text").code == 0
    wanted = [{**row, "prediction": answer} for row, answer in zip(rows, answers, strict=True)]
    assert [json.loads(line) for line in read_lines(tmp_path / "2" / "c.jsonl")] == wanted
    assert parquet.read_table(tmp_path / "2" / "d.parquet").to_pylist() == wanted


def test_json_answers(run, lines, answers, tmp_path, monkeypatch):
    in_this_process(monkeypatch)
    assert regard("predict", run, lines, "--shards", 3, "--json", "-o", tmp_path / "out").code == 0
    found = [json.loads(line) for line in read_lines(tmp_path / "out" / "texts.en.jsonl")]
    assert [(one["source"], one["text"]) for one in found] == [*zip(TEXTS, answers, strict=True)]


def test_a_killed_worker_is_started_again(run, lines, answers, tmp_path, monkeypatch):
    started, killed = program._started, []

    def killed_at_once(*given):
        process = started(*given)
        if not killed:
            process.kill()
            killed.append(process)
        return process

    monkeypatch.setattr(program, "_started", killed_at_once)
    assert regard("predict", run, lines, "--shards", 4, "--workers", 1, "-o", tmp_path / "out").code == 0
    assert killed[0].returncode == -signal.SIGKILL
    assert list(read_lines(tmp_path / "out" / lines.name)) == answers


@pytest.mark.slow
def test_twenty_kills(run, lines, answers, tmp_path):
    command = [sys.executable, "-m", "regard", "predict", run, lines, "--shards", "23", "--workers", "2"]
    for kills in count():
        process = subprocess.Popen([*map(str, command), "-o", str(tmp_path / "out")], stderr=subprocess.DEVNULL)
        try:
            process.wait(2 + kills % 5 if kills < 20 else 300)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        else:
            break
    assert process.returncode == 0
    assert list(read_lines(tmp_path / "out" / lines.name)) == answers


def planned(run, lines, out, monkeypatch):
    """A folder whose shards nobody has answered yet."""
    monkeypatch.setattr("regard.recipes.shards.program.Processes.launch", lambda *_: None)
    regard("predict", run, lines, "--shards", 4, "-o", out)
    monkeypatch.undo()
    return ShardFolder(out)


def test_only_what_is_left_is_answered(run, lines, answers, tmp_path, monkeypatch):
    folder = planned(run, lines, tmp_path / "out", monkeypatch)
    ShardWorker(folder.path).answer(2)
    times = folder.shard(2, "out").stat().st_mtime_ns
    in_this_process(monkeypatch)
    monkeypatch.setattr("regard.recipes.shards.plan.shutil.rmtree", lambda *_, **__: None)
    done = regard("predict", run, lines, "--shards", 9, "-o", folder.path)
    assert done.code == 0
    assert "the 4 shards of the first call are kept" in done.said
    assert folder.shard(2, "out").stat().st_mtime_ns == times
    assert list(read_lines(folder.path / lines.name)) == answers


def test_a_slurm_script_leaves_the_shards_to_its_tasks(run, lines, answers, tmp_path, monkeypatch):
    monkeypatch.setattr("regard.recipes.shards.program._ARRAY_TASKS", 2)
    monkeypatch.chdir(run.parent)
    command = ["predict", run.name, lines, "--shards", 5, "-o", tmp_path / "out", "--on", "slurm"]
    done = regard(*command)
    assert "sbatch" in done.said
    assert not (tmp_path / "out" / lines.name).exists()
    script = tmp_path / "out" / "slurm.sh"
    assert "--array=0-1%" in script.read_text()
    for task in "01":
        environment = {**os.environ, "SLURM_ARRAY_TASK_ID": task}
        subprocess.run(["bash", str(script)], env=environment, check=True, cwd="/")
    assert regard(*command).code == 0
    assert list(read_lines(tmp_path / "out" / lines.name)) == answers


def test_damaged_answers_are_not_joined(run, lines, tmp_path, monkeypatch):
    folder = planned(run, lines, tmp_path / "out", monkeypatch)
    in_this_process(monkeypatch)
    worker = ShardWorker(folder.path)
    for number in range(4):
        worker.answer(number)
    path = folder.shard(1, "out")
    path.write_bytes(path.read_bytes().replace(b'"', b" ", 1))
    done = regard("predict", run, lines, "--shards", 4, "-o", folder.path)
    assert unsaid(done, "00001.out", "not as it was written") == []
    assert not (folder.path / lines.name).exists()


def test_shards_hold_the_rows_in_order(run, lines, tmp_path, monkeypatch):
    folder = planned(run, lines, tmp_path / "out", monkeypatch)
    plan = folder.plan()
    found = [
        text
        for number, shard in enumerate(plan.shards)
        for text in read_strings(folder.shard(number, "in"), shard.digest)
    ]
    assert found == TEXTS
    assert [shard.first for shard in plan.shards] == [0, 6, 12, 18]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (["--json"], "options"),
        (["decoding.search=greedy"], "options"),
        (["texts"], "files"),
        (["weights"], "weights of the run"),
    ],
)
def test_a_folder_begun_otherwise_is_refused(run, lines, tmp_path, monkeypatch, changed, said):
    folder = planned(run, lines, tmp_path / "out", monkeypatch)
    if changed == ["texts"]:
        lines.write_text("a new text\n", encoding="utf-8")
        changed = []
    if changed == ["weights"]:
        monkeypatch.setattr("regard.runs.run.Run.weights_digest", "another")
        changed = []
    done = regard("predict", run, lines, "--shards", 4, "-o", folder.path, *changed)
    assert unsaid(done, "--output", f"other {said}") == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], ["--shards", "needs files"]),
        (["missing.en"], ["missing.en", "there is no such file"]),
        (["a.en", "b/a.en"], ["a.en", "2 files have this name"]),
        (["a.en", "--on", "rey"], ["--on", "did you mean 'ray'?"]),
        (["a.en", "--on", "ray"], ["--on", "ray is not installed"]),
        (["a.en", "--column", "text"], ["--column", "lines, not columns"]),
        (["a.en", "--n-best", "2"], ["--n-best", "--shards"]),
        (["bad.jsonl"], ["bad.jsonl:2", "is not JSON"]),
        (["bare.jsonl"], ["bare.jsonl:1", "'source' or 'text'", "name"]),
        (["number.jsonl"], ["number.jsonl:1", "expected a string"]),
        (["bad.parquet"], ["bad.parquet", "is not a Parquet file"]),
        (["bad.zst"], ["bad.zst", "damaged"]),
    ],
)
def test_refusals(run, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("regard.recipes.shards.program.find_spec", lambda name: None)
    Path("b").mkdir()
    Path("a.en").write_text("a dog\n", encoding="utf-8")
    Path("b/a.en").write_text("a dog\n", encoding="utf-8")
    Path("bad.jsonl").write_text('{"text": "a dog"}\n{"text"\n', encoding="utf-8")
    Path("bare.jsonl").write_text('{"name": "a dog"}\n', encoding="utf-8")
    Path("number.jsonl").write_text('{"text": 7}\n', encoding="utf-8")
    Path("bad.parquet").write_text("no table\n", encoding="utf-8")
    Path("bad.zst").write_bytes(zstandard.ZstdCompressor().compress(b"a dog\n" * 999)[:20])
    done = regard("predict", run, *words, "--shards", 2, "-o", "out")
    assert unsaid(done, *said) == []
    assert not Path("out/plan.json").exists()


def test_two_commands_do_not_work_in_one_folder(run, lines, tmp_path, monkeypatch):
    import fcntl

    folder = planned(run, lines, tmp_path / "out", monkeypatch)
    with folder.lock.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = regard("predict", run, lines, "--shards", 4, "-o", folder.path)
    assert unsaid(done, "--output", "another process") == []


def test_warnings_of_a_shard_are_few(run, lines, tmp_path, monkeypatch, capsys):
    folder = planned(run, lines, tmp_path / "out", monkeypatch)
    monkeypatch.setattr(
        "regard.recipes.shards.worker.predicted",
        lambda answer, chunks, name, warn, before: [warn(f"{name}:{row}") for row in range(5)] and answer_all(chunks),
    )
    ShardWorker(folder.path).answer(0)
    said = capsys.readouterr().err
    assert (said.count(lines.name), "shard 0: 3 more warnings" in said) == (2, True)


def answer_all(chunks):
    for some in chunks:
        yield [Prediction(text, text, 0.0) for text in some]
