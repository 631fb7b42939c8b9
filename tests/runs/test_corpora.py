"""Training on several corpora: settings, shares of batches, one vocabulary, resuming."""

from itertools import islice

import pytest
from small_runs import SMALL, regard, unsaid, write_texts

from regard.data.streams import MixedStream
from regard.errors import ConfigError
from regard.experiment import load_experiment, read_experiment
from regard.runs import Run, RunFolder
from regard.runs.run import task_of
from regard.runs.texts import training_batches, training_readers
from regard.training import checkpoint as files

SPOKEN = [("hello", "hallo"), ("good night", "gute Nacht"), ("thanks", "danke")] * 2


@pytest.fixture
def words(tmp_path):
    """The options and settings that name two corpora."""
    for side, name in enumerate(("spoken.en", "spoken.de")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in SPOKEN), encoding="utf-8")
    spoken = f"{{source: {tmp_path}/spoken.en, target: {tmp_path}/spoken.de}}"
    return [*SMALL, *write_texts(tmp_path), f"data.corpora.spoken={spoken}"]


def trained(words, run, *more):
    done = regard("train", *words, "--run", run, "--quiet", *more)
    assert done.code == 0, done.said
    return RunFolder(run)


def batches_of(folder):
    opened = Run.open(folder)
    experiment = opened.experiment
    columns = opened.columns
    return training_batches(experiment, folder, task_of(experiment, columns), lambda _: None)


def weights(run):
    return files.latest_valid(run)[0].model


def test_all_corpora_are_learnt_from(words, tmp_path):
    words = [word for word in words if not word.startswith("text.")]
    folder = trained([*words, "text.tokenizer=words"], tmp_path / "run")
    opened = Run.open(folder)
    experiment = opened.experiment
    assert [len(list(reader)) for reader in training_readers(experiment).values()][1:] == [len(SPOKEN)]
    ids = opened.columns["target"].encode_batch(["danke", "Hund", "Baum"])
    assert [len(row) for row in ids][:2] == [1, 1] and len(ids[2]) > 1  # unknown words are spelt


def test_batches_may_be_of_so_many_sentences(words, tmp_path):
    folder = trained([*words, "training.batch_sentences=5"], tmp_path / "run")
    batches = islice(batches_of(folder).parts["train"].stream(), 20)
    rows = {len(batch.lines) for _, batch in batches}
    assert max(rows) == 5 and len(rows) == 2  # what is left of an epoch is smaller


@pytest.mark.parametrize("given", [None, {"train": 1.0, "spoken": 4.0}])
def test_shares_are_the_weights_or_the_sizes(words, tmp_path, given):
    more = [] if given is None else [f"data.weights={{train: {given['train']}, spoken: {given['spoken']}}}"]
    stream = batches_of(trained(words, tmp_path / "run", *more))
    assert isinstance(stream, MixedStream)
    sizes = {
        name: sum(int(part.corpus.lengths(side).sum()) for side in ("source", "target"))
        for name, part in stream.parts.items()
    }
    expected = given or sizes
    assert stream.shares["train"] == pytest.approx(expected["train"] / sum(expected.values()))


def test_settings_are_saved_as_they_are(words, tmp_path):
    settings = [word for word in words if "=" in word]
    texts = [f"data.train.source={tmp_path}/a.en", f"data.train.target={tmp_path}/a.de"]
    experiment = read_experiment(None, [*settings, *texts, "data.weights={train: 1, spoken: 2}"])
    experiment.save(tmp_path / "experiment.yaml")
    assert load_experiment(tmp_path / "experiment.yaml").data == experiment.data


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("data.weights={train: 1}", "data.weights: names train, the corpora are train, spoken"),
        ("data.weights={train: 1, spoken: 0}", "data.weights.spoken"),
        ("data.corpora.train={name: tsv, file: a.tsv}", "data.corpora.train"),
        ("data.corpora.old={source: missing.en, target: missing.de}", "data.corpora.old.source: there is no file"),
        ("data.corpora.old={source: a.en}", "data.corpora.old.target: must be given"),
    ],
)
def test_what_does_not_fit_is_a_fault(words, tmp_path, monkeypatch, change, told):
    monkeypatch.chdir(tmp_path)
    done = regard("train", *words, "--run", tmp_path / "run", change)
    assert done.code == 2 and told in " ".join(done.said.split()), done.said
    assert not (tmp_path / "run").exists()


def test_a_resumed_run_equals_an_unbroken_one(words, tmp_path):
    six, two = ["training.max_updates=6"], ["training.max_updates=2"]
    whole = trained(words, tmp_path / "whole", *six)
    broken = trained(words, tmp_path / "broken", *two)
    assert regard("train", "--run", broken, "--resume", "--quiet", *six).code == 0
    one, other = weights(whole.path), weights(broken.path)
    assert one.keys() == other.keys() and all(one[name].equal(other[name]) for name in one)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("data.weights={train: 1, spoken: 1}", "data.weights.train: cannot change in a run that has begun"),
        ("data.corpora.more={name: tsv, file: more.tsv}", "data.corpora.more: cannot change in a run that has begun"),
    ],
)
def test_resuming_with_other_corpora_is_refused(words, tmp_path, monkeypatch, change, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "more.tsv").write_text("no\tnein\n", encoding="utf-8")
    folder = trained(words, tmp_path / "run")
    done = regard("train", "--run", folder, "--resume", "training.max_updates=3", change, "--quiet")
    assert done.code == 2 and told in done.said, done.said


def test_unknown_columns_are_faults(words, tmp_path):
    with pytest.raises(ConfigError) as caught:
        read_experiment(None, [*SMALL, f"data.train.source={tmp_path}/a.en", f"data.train.target={tmp_path}/a.de",
                               f"data.corpora.more={{source: {tmp_path}/a.en, targte: {tmp_path}/a.de}}"])  # fmt: skip
    assert "data.corpora.more.targte: is not a column of this task" in str(caught.value)


def test_what_is_held_out_is_a_share_of_train_alone(words, tmp_path):
    folder = trained(words, tmp_path / "run")
    assert Run.open(folder).experiment.data.dev_fraction == 0.05  # of 12 pairs, whatever else there is


@pytest.fixture
def exchangeable(tmp_path):
    """The options of pairs whose nouns stand between the same words."""
    nouns = {"dog": "Hund", "cat": "Kater", "man": "Mann", "boy": "Junge"}
    pairs = [(f"a {n} sees a {m}.", f"ein {nouns[n]} sieht den {nouns[m]}.") for n in nouns for m in nouns if n < m]
    for side, name in enumerate(("n.en", "n.de")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    return [*SMALL, "--source", f"{tmp_path}/n.en", "--target", f"{tmp_path}/n.de"]


def test_recombined_pairs_have_their_share_and_teach_no_vocabulary(exchangeable, tmp_path):
    plain = trained(exchangeable, tmp_path / "plain")
    folder = trained([*exchangeable, "data.recombination={copies: 3, fraction: 0.25}"], tmp_path / "run")
    stream = batches_of(folder)
    assert stream.shares == {"train": pytest.approx(0.75), "recombined": pytest.approx(0.25)}
    assert len(stream.parts["recombined"].corpus) > 0
    assert Run.open(folder).columns["target"].key() == Run.open(plain).columns["target"].key()


def test_a_run_with_recombined_pairs_resumes_exactly(exchangeable, tmp_path):
    words = [*exchangeable, "data.recombination.copies=3"]
    whole = trained(words, tmp_path / "whole", "training.max_updates=6")
    broken = trained(words, tmp_path / "broken", "training.max_updates=2")
    assert regard("train", "--run", broken, "--resume", "--quiet", "training.max_updates=6").code == 0
    one, other = weights(whole.path), weights(broken.path)
    assert all(one[name].equal(other[name]) for name in one)


def test_pairs_with_nothing_to_exchange_are_trained_on_as_they_are(tmp_path):
    done = regard("train", *SMALL, *write_texts(tmp_path), "--run", tmp_path / "run", "data.recombination.copies=3")
    assert done.code == 0 and "no two aligned phrases have the same context" in done.said


def test_recombination_needs_pairs(tmp_path):
    (tmp_path / "text.txt").write_text("a dog runs\n" * 9, encoding="utf-8")
    done = regard("train", "--text", tmp_path / "text.txt", "data.recombination.copies=3", "--run", tmp_path / "run")
    assert not unsaid(done, "data.recombination: needs pairs of a source and a target"), done.said
