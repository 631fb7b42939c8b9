"""What is held out of the training part for want of dev and test parts: disjoint, known again, and judged."""

import pytest
from small_runs import SMALL, regard, unsaid

from regard.experiment import read_experiment
from regard.experiment.data import DataSettings
from regard.registry import Choice
from regard.reports.evaluation import evaluate
from regard.runs import Run, RunFolder, texts
from regard.runs.run import task_of
from regard.runs.texts import dev_examples, training_readers

COUNT = 400


@pytest.fixture
def words(tmp_path):
    for name, text in (("a.en", "sentence"), ("a.de", "Satz")):
        (tmp_path / name).write_text("".join(f"{text} {number}\n" for number in range(COUNT)), encoding="utf-8")
    return [f"data.train.source={tmp_path}/a.en", f"data.train.target={tmp_path}/a.de"]


def parts_of(folder):
    opened = Run.open(folder)
    experiment = opened.experiment
    task = task_of(experiment, opened.columns)
    train = [example.texts["source"] for example in training_readers(experiment)["train"]]
    dev = dev_examples(experiment, task, lambda _: None)
    return train, dev["source"], texts.test_examples(experiment, task)["source"]


@pytest.fixture
def run(words, tmp_path):
    done = regard("train", *SMALL, *words, "--run", tmp_path / "run", "--quiet")
    assert done.code == 0, done.said
    return RunFolder(tmp_path / "run")


def test_three_parts_divide_the_examples(run):
    train, dev, test = parts_of(run)
    assert sorted(train + dev + test) == sorted(f"sentence {number}" for number in range(COUNT))
    assert min(len(dev), len(test)) > 5


def test_equal_texts_leave_nothing_to_learn_from(words, tmp_path):
    (tmp_path / "a.en").write_text("one sentence\n" * COUNT, encoding="utf-8")
    done = regard("train", *SMALL, *words, "data.dev_fraction=0.999", "data.test_fraction=0", "--run", tmp_path / "run")
    assert unsaid(done, "a.en: no example is left to learn from", "are all its texts equal?") == []


def test_a_run_is_evaluated_without_files(run):
    _, _, test = parts_of(run)
    found = evaluate([run.path])
    assert found.examples == len(test)
    assert f"{len(test):,} lines held out of the training set" in str(found) and found.values()["held_out"]


def test_a_given_test_set_is_not_called_held_out(run, tmp_path):
    for name in ("source", "target"):
        (tmp_path / f"test.{name}").write_text("sentence 1\nsentence 2\n")
    found = evaluate([run.path], {name: tmp_path / f"test.{name}" for name in ("source", "target")})
    assert "held out" not in str(found) and not found.values()["held_out"]


def test_a_test_part_of_its_own_leaves_all_to_training(words, tmp_path):
    named = [word.replace("train", "test") for word in words]
    given = read_experiment(None, [*SMALL, *words, *named])
    without = read_experiment(None, [*SMALL, *words])
    more = len(list(training_readers(given)["train"])) - len(list(training_readers(without)["train"]))
    assert more > 5


def test_a_test_part_that_puts_back_examples_is_refused_on_resume(run, words):
    named = [word.replace("train", "test") for word in words]
    done = regard("train", "--run", run, "--resume", "training.max_updates=3", *named, "--quiet")
    assert done.code == 2
    assert "data.test_fraction: cannot change in a run that has begun: 0.05 → 0 of the training texts" in done.said


@pytest.mark.parametrize("name", ["pairs.tsv", "pairs.csv"])
def test_one_file_of_pairs_is_enough(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    between = "\t" if name.endswith("tsv") else ","
    (tmp_path / name).write_text("".join(f"sentence {one}{between}Satz {one}\n" for one in range(COUNT)), "utf-8")
    done = regard("train", name, *SMALL, "--run", "run", "--quiet")
    assert done.code == 0, done.said
    assert evaluate([tmp_path / "run"]).examples > 5


def test_languages_of_a_translation_memory_are_known():
    memory = Choice("tmx", {"file": "a.tmx", "languages": ("en", "de")})
    assert DataSettings(train=memory).language_pair() == ("en", "de")
    assert DataSettings(train=Choice("tmx", {"file": "a.tmx", "languages": None})).language_pair() == (None, None)


@pytest.mark.filterwarnings("ignore:decoding.precision")  # a processor may know no such products
def test_run_in_eight_bits_is_compared_with_float32(run):
    exact, eight = evaluate([run.path]), evaluate([run.path], changes=["decoding.precision=int8"])
    assert [one.name for one in eight.systems] == [f"{run.path} in float32", str(run.path)]
    assert eight.systems[0].scores == exact.systems[0].scores
    found = {test.a.name: test.difference for _, test in eight.comparisons}
    own = {one.name: one.value for one in eight.systems[1].scores}
    assert found == {one.name: pytest.approx(own[one.name] - one.value) for one in exact.systems[0].scores}
