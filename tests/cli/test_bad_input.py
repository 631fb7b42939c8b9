"""What a user can get wrong: one clear line each, exit code 2, nothing lost."""

import gzip
import json
import shutil
from pathlib import Path

import pytest
from small_runs import PAIRS, SMALL, Done, regard, unsaid, write_texts

from regard.training import checkpoint as files


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    write_texts(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    write_texts(folder)
    assert train(folder, run=folder / "run").code == 0
    return folder / "run"


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    return shutil.copytree(trained, tmp_path / "run")


def train(folder: Path, *changes: str, run: Path | None = None) -> Done:
    sides = ["--source", folder / "a.en", "--target", folder / "a.de", "--run", run or folder / "run", "--quiet"]
    return regard("train", *SMALL, *changes, *sides)


def test_a_missing_file(corpus):
    (corpus / "a.de").unlink()
    assert unsaid(train(corpus), "data.train.target", "a.de", "there is no file") == []
    assert not (corpus / "run").exists()


def test_unequal_line_counts_say_both_and_the_first_suspicious_place(corpus):
    (corpus / "a.de").write_text("".join(f"{target}\n" for _, target in PAIRS[1:]), encoding="utf-8")
    assert unsaid(train(corpus), "12 lines", "11", "line") == []
    assert not (corpus / "run").exists()


def test_a_file_that_is_not_utf_8_is_told_by_line_and_byte(corpus):
    (corpus / "a.de").write_bytes("".join(f"{target}\n" for _, target in PAIRS).encode("latin-1"))
    assert unsaid(train(corpus), "a.de:1", "byte", "UTF-8") == []


def test_a_truncated_gz_is_told(corpus):
    whole = gzip.compress((corpus / "a.de").read_bytes())
    (corpus / "a.de.gz").write_bytes(whole[: len(whole) // 2])
    sides = ["--source", corpus / "a.en", "--target", corpus / "a.de.gz", "--run", corpus / "run"]
    assert unsaid(regard("train", *SMALL, *sides), "a.de.gz") == []


def test_a_run_that_is_not_there_is_no_file_of_translations(corpus):
    done = regard("evaluate", corpus / "nope")
    told = unsaid(done, f"{corpus / 'nope'}: there is no such run or file", "a run folder")
    assert told == []


def test_a_run_in_the_place_of_a_config_is_gone_on_with(run):
    assert unsaid(regard("train", run), "this is a folder", f"regard train {run} --resume") == []
    done = regard("train", run, "--resume", "training.max_updates=3")
    assert done.code == 0, done.said


def test_one_file_of_a_language_model_is_named_once(corpus):
    sides = ["data.train.source=" + str(corpus / "a.en"), "data.train.target=" + str(corpus / "a.en")]
    changes = ["training.max_updates=1", "data.transforms=noise"]
    done = regard("train", *SMALL, *sides, *changes, "--run", corpus / "run")
    assert "learning subwords from a.en\n" in done.said


@pytest.mark.parametrize("name", ["a.en", "copy.de", "pairs.tsv"])
def test_one_text_as_both_sides_is_refused_without_noise(corpus, name):
    text = (corpus / "a.en").read_text(encoding="utf-8")
    (corpus / "copy.de").write_text(text, encoding="utf-8")
    (corpus / "pairs.tsv").write_text("".join(f"{one}\t{one}\n" for one in text.splitlines()), encoding="utf-8")
    sides = [corpus / name] if name.endswith("tsv") else ["--source", corpus / "a.en", "--target", corpus / name]
    refused = regard("train", *sides, *SMALL, "--run", corpus / "run")
    assert unsaid(refused, f"data.train.target: '{name}' is the same text as the source", "data.transforms=noise") == []
    assert not (corpus / "run").exists()


def test_an_empty_file(corpus):
    for name in ("a.en", "a.de"):
        (corpus / name).write_bytes(b"")
    assert unsaid(train(corpus), "a.en", "empty") == []
    assert not (corpus / "run").exists()


def test_all_wrong_settings_at_once_with_the_nearest_name(corpus):
    done = train(corpus, "model.dimm=3", "training.max_updates=many", "model.attention.score=aditive")
    assert done.code == 2
    told = done.said
    assert "model.dimm: there is no such setting (did you mean 'dim'?)" in told
    assert "training.max_updates" in told and "many" in told
    assert "aditive" in told and "did you mean 'additive'?" in told
    assert not (corpus / "run").exists()


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ("model.attention.num_heads=3", ("3 heads do not divide dim 16", "1, 2, 4, 8, 16")),
        ("model.decoder.alignment_layer=7", ("alignment_layer", "there is no layer 7 among 1")),
        ("model.encoder={name: recurrent, hidden_dim: 6}", ()),
        ("training.metric=blue", ("training.metric", "did you mean 'bleu'?")),
    ],
    ids=["heads", "layer", "free", "metric"],
)
def test_impossible_shapes(corpus, change, parts):
    done = train(corpus, change)
    if parts:
        assert unsaid(done, *parts) == []
        assert not (corpus / "run").exists()
    else:
        assert done.code == 0  # any encoder with any decoder


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        (
            ["model.encoder={name: recurrent, hidden_dim: 6}", "model.decoder={name: recurrent, hidden_dim: 8}",
             "model.attention={score: dot, num_heads: 1}"],
            ("a dot product needs equal dims, got query 8 and key 12",),
        ),
        (["model.head=pointer", "text.shared=false", "model.tied=target"], ("model.head", "one vocabulary")),
        (["text.shared=false"], ("model.tied", "one vocabulary")),
        (
            ["model.decoder={name: recurrent, hidden_dim: 16, source_context: final}", "model.head=pointer"],
            ("model.head", "attends to the source"),
        ),
        (["model.decoder={name: recurrent, hidden_dim: 16, init_from_encoder: true}"], ("init_from_encoder", "states")),
    ],
    ids=["dot", "pointer", "tied", "final", "copy"],
)  # fmt: skip
def test_a_part_that_cannot_work_there(corpus, changes, parts):
    assert unsaid(train(corpus, *changes), *parts) == []
    assert not (corpus / "run").exists()


def test_a_run_folder_that_exists_is_left_alone(corpus):
    (corpus / "run").mkdir()
    (corpus / "run" / "precious").write_text("mine")
    assert unsaid(train(corpus), "exists", "choose another folder") == []
    assert (corpus / "run" / "precious").read_text() == "mine"


def test_a_folder_that_is_no_run(tmp_path):
    assert unsaid(regard("predict", tmp_path, given="x\n"), str(tmp_path), "run folder") == []
    assert unsaid(regard("train", "--run", tmp_path, "--resume"), str(tmp_path), "run folder") == []


@pytest.mark.parametrize("damage", ["truncated", "flipped", "foreign", "missing"])
def test_a_damaged_checkpoint(run, damage):
    folder = run / files.FOLDER / json.loads((run / "final.json").read_text())["checkpoint"]
    model = folder / files.MODEL_FILE
    data = bytearray(model.read_bytes())
    if damage == "truncated":
        model.write_bytes(data[: len(data) // 2])
    elif damage == "flipped":
        data[len(data) // 2] ^= 1
        model.write_bytes(data)
    elif damage == "foreign":
        model.write_bytes(b"PK\x03\x04 something else")
    else:
        shutil.rmtree(folder)
    assert unsaid(regard("predict", run, given="a dog\n"), folder.name) == []


def test_a_tokenizer_of_another_run(run):
    for path in (run / "text").rglob("*"):
        if path.is_file():
            path.write_bytes(b"something else")
    assert unsaid(regard("predict", run, given="a dog\n"), "text") == []


def test_a_source_longer_than_the_model_allows_is_told_and_loses_no_other(run):
    done = regard("predict", run, "decoding.max_source=8", given="a dog\n" + "dog " * 50 + "\n")
    told = "warning: stdin:2: 100 pieces are more than this model takes (7): it has no answer (split the text"
    assert (done.code, done.said.count("\n")) == (0, 1)
    assert done.said.startswith(told)


def test_a_loss_that_is_no_number_stops_and_keeps_the_last_good_checkpoint(corpus):
    done = train(corpus, "training.learning_rate=1e30", "training.clip_norm=0", "training.max_updates=50")
    assert unsaid(done, "update", "what was saved before", "learning_rate") == []
    assert files.latest_valid(corpus / "run")[0].state["update"] >= 1


def test_a_line_that_is_not_utf_8_on_stdin(run):
    assert unsaid(regard("predict", run, given=b"ok\n\xff\n"), "stdin:2", "byte 0xff", "1 of the line") == []
