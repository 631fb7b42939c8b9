"""The settings of a run: complete, told all at once when wrong, and the same when read back."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from regard.cli.app import app
from regard.errors import ConfigError
from regard.experiment import PARTS, TABLES, catalogue, load_experiment, read_experiment, schema
from regard.experiment.sizes import defaults_for


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for name in ("train.en", "train.de"):
        (tmp_path / name).write_text("one\ntwo\nthree\n")
    return [f"data.train.source={tmp_path / 'train.en'}", f"data.train.target={tmp_path / 'train.de'}"]


def faults(*changes: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read_experiment(None, changes)
    return str(caught.value).splitlines()


def test_two_files_are_enough(files):
    experiment = read_experiment(None, files)
    assert experiment.data.language_pair() == ("en", "de")
    assert experiment.model.settings["dim"] == 128
    assert (experiment.training.max_updates, experiment.data.dev_fraction) == (5_000, 0.05)


def test_metrics_of_answers_of_another_kind_are_refused_before_training(tmp_path):
    (tmp_path / "a.tsv").write_text("good\ta film\nbad\tno film\n" * 20)
    said = [f"data.train={tmp_path / 'a.tsv'}", "task=classification"]
    (line,) = faults(*said, "evaluation.metrics=[accuracy,bleu]")
    assert line.startswith("evaluation.metrics: 'bleu' is not a metric of this task's answers (evaluation.metrics=[")
    assert "f1" in line and "chrf" not in line
    experiment = read_experiment(None, [*said, "evaluation.metrics=[f1]"])
    assert [one.name for one in experiment.evaluation.metrics] == ["f1"]


def test_longer_sources_than_the_model_has_places_are_refused_where_they_are_asked_for(files):
    places = "model.position={name: learned, max_length: 40}"
    assert read_experiment(None, [*files, places, "decoding.max_source=40"]).decoding.max_source == 40
    wrong = [places, "decoding.max_source=41"]
    assert faults(*files, *wrong) == [
        "decoding.max_source: is 41, but the model reads 40 pieces at most, by model.position.max_length (40 or "
        "less, or leave it out)"
    ]
    assert (
        read_experiment(None, [*files, places]).model.settings["position"].settings["max_length"] == 40
    )  # it was not asked for
    clamped = "model.position={name: learned, max_length: 40, beyond: clamp}"
    assert read_experiment(None, [*files, clamped, wrong[1]]).decoding.max_source == 41


def test_bounds_of_parts_are_told_at_once_and_with_their_place(files):
    """Not one by one where a network is built, by a part that knows not whose it is."""
    sru, tape = "cell: {name: sru, highway_bias: 1000}", "cell: {name: lstmn, memory_size: 0}"
    changes = [f"model.decoder={{name: recurrent, {sru}}}", f"model.encoder={{name: recurrent, {tape}}}"]
    assert faults(*files, *changes, "model.embedder.std=-1") == [
        "model.embedder.std: must be at least 0, not -1",
        "model.encoder.cell.memory_size: must be at least 1, not 0",
        "model.decoder.cell.highway_bias: must be at most 30, not 1000",
    ]
    window, order = "cell: {name: key_value, window: 0}", "cell: {name: ngram, order: 1}"
    changes = [f"model.decoder={{name: recurrent, {window}}}", f"model.encoder={{name: recurrent, {order}}}"]
    assert faults(*files, *changes, "model.position={name: learned, std: -1}") == [
        "model.position.std: must be at least 0, not -1",
        "model.encoder.cell.order: must be at least 2, not 1",
        "model.decoder.cell.window: must be at least 1, not 0",
    ]
    changes = [
        "model.encoder={name: bytenet, dilations: [], ratio: -1}",
        "model.decoder={name: bytenet, dilations: [0]}",
    ]
    assert faults(*files, *changes) == [
        "model.encoder.dilations: needs 1 or more in it, but has 0",
        "model.encoder.ratio: must be at least 0, not -1",
        "model.decoder.dilations.0: must be at least 1, not 0",
    ]


@pytest.mark.parametrize("seed", [2**63, -1])
def test_a_seed_is_a_number_of_eight_bytes(files, seed):
    with pytest.raises(ConfigError, match=r"training\.seed: must be"):
        read_experiment(None, [*files, f"training.seed={seed}"])


def test_the_languages_that_names_tell_are_written_down(files, tmp_path):
    """So that who reads the settings of a run need not know how files are named."""
    assert read_experiment(None, files).data.located().languages == ("en", "de")
    (tmp_path / "b").write_text("one\ntwo\nthree\n")
    untold = read_experiment(None, [*files[:1], f"data.train.target={tmp_path / 'b'}"])
    assert untold.data.located().languages is None


def test_defaults_grow_with_the_data():
    sizes = [defaults_for(pairs) for pairs in (100, 19_999, 59_999, 60_000, 499_999, 500_000)]
    assert [size["model"]["dim"] for size in sizes] == [128, 128, 128, 256, 256, 512]
    assert defaults_for(10**6)["data"]["dev_fraction"] == 0.002


def test_who_sets_one_limit_wants_no_other(files):
    limits = read_experiment(None, [*files, "training.max_minutes=5"]).training
    assert (limits.max_minutes, limits.max_updates, limits.max_epochs) == (5, None, None)


def test_batches_are_of_tokens_or_of_sentences(files):
    sentences = read_experiment(None, [*files, "training.batch_sentences=80"]).training
    assert (sentences.batch_tokens, sentences.batch_sentences, sentences.batch_size) == (None, 80, "80 sentences")
    tokens = read_experiment(None, [*files, "training.batch_tokens=99"]).training
    assert (tokens.batch_tokens, tokens.batch_sentences, tokens.batch_size) == (99, None, "99 tokens")
    assert faults(*files, "training.batch_sentences=80", "training.batch_tokens=99") == [
        "training.batch_sentences: cannot be set together with training.batch_tokens "
        "(training.batch_tokens=null, or leave one of them out)"
    ]
    assert "is null, so a batch has no limit" in faults(*files, "training.batch_tokens=null")[0]
    nothing = ["training.batch_sentences=80", "training.batch_tokens=null"]
    assert read_experiment(None, [*files, *nothing]).training == sentences


def test_all_faults_are_told_at_once_with_the_nearest_name(files):
    told = faults(*files, "modle.dim=3", "training.learning_rat=1", "model.dim=many", "model.encoder=transfromer")
    assert len(told) == 4
    for place, hint in (("modle", "'model'"), ("training.learning_rat", "'learning_rate'"), ("model.dim", "'many'"),
                        ("model.encoder", "'transformer'")):  # fmt: skip
        (line,) = [line for line in told if line.startswith(f"{place}: ")]
        assert hint in line


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (["training.metric=length_ratio"], "training.metric: 'length_ratio' cannot rank models"),
        (["text.shared=false"], "model.tied: 'all' needs one vocabulary"),
        (["data.dev.source=~nobody-at-all/x", "data.dev.target=y"], "data.dev.source: there is no file"),
        (["data.train=pairs.tsv"], "data.train: comes after data.train.files.target and discards it"),
    ],
)
def test_what_is_wrong_together(files, changes, told):
    assert any(line.startswith(told) for line in faults(*files, *changes))


def test_a_saved_experiment_reads_back_the_same(files, tmp_path):
    changes = ["model.attention=bahdanau", "training.schedules={objective.label_smoothing: {name: linear, updates: 9}}"]
    experiment = read_experiment(None, [*files, *changes, "text.tokenizer=words", "model.dropout=1e-3"])
    experiment = replace(experiment, run=tmp_path / "no: run")
    experiment.save(tmp_path / "experiment.yaml")
    assert load_experiment(tmp_path / "experiment.yaml") == experiment
    assert [path.name for path in tmp_path.iterdir() if "experiment" in path.name] == ["experiment.yaml"]


def test_a_save_that_fails_leaves_what_was_there(files, tmp_path, monkeypatch):
    experiment, path = read_experiment(None, files), tmp_path / "experiment.yaml"
    experiment.save(path)
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(OSError, match="No space"):
            replace(experiment, device="cpu").save(path)
    assert path.read_bytes() == before
    assert not list(tmp_path.glob(".*"))


def test_the_catalogue_and_the_schema_know_every_part():
    found, told = catalogue(), json.dumps(schema())
    assert set(found) == set(PARTS) > set(TABLES)
    for kind, table in PARTS.items():
        assert sorted(found[kind]) == sorted(table)
        assert all(row["about"] for row in found[kind].values())
        assert kind not in TABLES or all(f'"{name}"' in told for name in table)


def test_list_and_schema_print_them():
    shown = CliRunner().invoke(app, ["list", "score"])
    assert (shown.exit_code, shown.stdout.splitlines()[0]) == (0, "score")
    assert "hidden_dim: int" in shown.stdout
    listed = json.loads(CliRunner().invoke(app, ["list", "--json"]).stdout)
    assert {kind: rows for kind, rows in listed.items() if kind in PARTS} == catalogue()
    assert json.loads(CliRunner().invoke(app, ["schema"]).stdout) == schema()
    wrong = CliRunner().invoke(app, ["list", "scor"])
    assert (wrong.exit_code, "did you mean 'score'?" in wrong.stderr) == (2, True)
