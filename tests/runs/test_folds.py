"""Cross-validation: every example is in one test fold, drawn by a seed, and never in the training part beside it."""

from collections import Counter

import pytest
from small_runs import regard, unsaid

from regard.data.columns import learn_columns
from regard.data.examples import Example
from regard.data.readers import Reader
from regard.data.readers.part import Fold
from regard.errors import DataError
from regard.experiment import read_experiment
from regard.reports.evaluation import evaluate
from regard.runs import Run, RunFolder, texts
from regard.runs.run import task_of
from regard.runs.texts import dev_examples, training_readers
from regard.tasks import TASKS

COUNT, FOLDS = 300, 5
TINY = ["task=classification", "model.encoder=embeddings", "model.dim=8", "training.max_updates=2",
        "training.validate_every=1", "training.average=1"]  # fmt: skip


class Listed(Reader):
    """Texts that stand in memory."""

    columns, files = ("text",), ()

    def __init__(self, values: list[str]) -> None:
        self.values = values

    def key(self) -> str:
        return "listed"

    def __iter__(self):
        return (Example(number, {"text": value}) for number, value in enumerate(self.values, start=1))


def lines_of(reader: Reader) -> list[int]:
    return [example.line for example in reader]


class Labelled(Reader):
    """Texts with labels, in memory."""

    columns, files = ("text", "label"), ()

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self.pairs = pairs

    def key(self) -> str:
        return "labelled"

    def __iter__(self):
        return (Example(at, {"text": text, "label": label}) for at, (text, label) in enumerate(self.pairs, start=1))


@pytest.fixture
def table(tmp_path):
    rows = [f"{'good' if number % 3 else 'bad'}\ttext {number}\n" for number in range(COUNT)]
    (tmp_path / "a.tsv").write_text("".join(rows))
    return tmp_path / "a.tsv"


def test_every_example_is_in_exactly_one_fold():
    reader = Listed([f"text {number}" for number in range(COUNT)])
    held = [lines_of(Fold(reader, FOLDS, fold, held_out=True)) for fold in range(1, FOLDS + 1)]
    assert Counter(line for lines in held for line in lines) == Counter(range(1, COUNT + 1))
    assert all(COUNT / FOLDS / 2 < len(lines) < COUNT / FOLDS * 2 for lines in held)
    for fold, lines in enumerate(held, start=1):
        rest = lines_of(Fold(reader, FOLDS, fold, held_out=False))
        assert sorted(rest + lines) == list(range(1, COUNT + 1))


@pytest.mark.parametrize("seed", [0, 1])
def test_stratified_folds_have_the_same_share_of_each_label(seed):
    """As many examples of a label in each fold as scikit-learn's, and of all folds every example once."""
    theirs = pytest.importorskip("sklearn.model_selection")
    labels = ["a"] * 53 + ["b"] * 31 + ["c"] * 7
    reader = Labelled([(f"text {number}", label) for number, label in enumerate(labels)])
    held = [lines_of(Fold(reader, FOLDS, fold, seed, held_out=True, stratified=True)) for fold in range(1, FOLDS + 1)]
    assert sorted(line for lines in held for line in lines) == list(range(1, len(labels) + 1))
    ours = [Counter(labels[line - 1] for line in lines) for lines in held]
    splits = theirs.StratifiedKFold(FOLDS).split(labels, labels)
    oracle = [Counter(labels[place] for place in test) for _, test in splits]
    assert all(sorted(one[label] for one in ours) == sorted(one[label] for one in oracle) for label in "abc")
    sizes = [len(lines) for lines in held]
    assert max(sizes) - min(sizes) <= 1
    rest = lines_of(Fold(reader, FOLDS, 1, seed, held_out=False, stratified=True))
    assert sorted(rest + held[0]) == list(range(1, len(labels) + 1))


def test_equal_texts_are_in_one_stratified_fold():
    reader = Labelled([(f"text {number // 2}", "ab"[number % 4 // 2]) for number in range(COUNT)])
    lines = lines_of(Fold(reader, FOLDS, 1, held_out=True, stratified=True))
    assert all((line + 1 if line % 2 else line - 1) in lines for line in lines)
    assert len(lines) == COUNT / FOLDS


def test_stratified_folds_need_as_many_texts_of_a_label():
    reader = Labelled([(f"text {number}", "ab"[number % 2]) for number in range(6)])
    with pytest.raises(DataError, match=r"there are 5, and no label has more than 3 different texts \(at most 3\)"):
        lines_of(Fold(reader, FOLDS, 1, held_out=True, stratified=True))
    some = Labelled([*((f"text {number}", "a") for number in range(5)), ("text", "rare")])
    with pytest.warns(UserWarning, match="'rare' has fewer texts than there are folds"):
        assert len(lines_of(Fold(some, FOLDS, 1, held_out=True, stratified=True))) in (1, 2)


def test_equal_texts_are_in_one_fold_and_another_seed_draws_others():
    reader = Listed([f"text {number // 2}" for number in range(COUNT)])
    first, again, other = (lines_of(Fold(reader, FOLDS, 1, seed, held_out=True)) for seed in (0, 0, 1))
    assert first == again != other
    assert all((line + 1 if line % 2 else line - 1) in first for line in first)


def test_a_run_learns_from_the_other_folds_and_is_judged_by_its_own(table, tmp_path):
    evaluated: list[str] = []
    for fold in range(1, FOLDS + 1):
        changes = [*TINY, f"data.folds={FOLDS}", f"data.fold={fold}", "data.dev_fraction=0.1", f"run={tmp_path / 'r'}"]
        experiment = read_experiment(table, changes)
        readers = training_readers(experiment)
        columns = learn_columns(experiment.columns, [*readers.values()], experiment.text.tokenizer, shared=True)
        task = TASKS.build(experiment.task, columns)
        learnt = [one.texts["text"] for one in readers["train"]]
        test = texts.test_examples(experiment, task)["text"]
        dev = dev_examples(experiment, task, print)["text"]
        assert sorted([*learnt, *dev, *test]) == sorted(f"text {number}" for number in range(COUNT))
        assert len(dev) > 5
        evaluated += test
    assert Counter(evaluated) == Counter(f"text {number}" for number in range(COUNT))


def test_a_run_of_a_fold_is_evaluated_without_files(table, tmp_path):
    done = regard("train", table, *TINY, "data.folds=5", "data.fold=2", "--run", tmp_path / "run", "--quiet")
    assert done.code == 0, done.said
    folder = RunFolder(tmp_path / "run")
    opened = Run.open(folder)
    experiment = opened.experiment
    test = texts.test_examples(experiment, task_of(experiment, opened.columns))
    assert evaluate([tmp_path / "run"]).examples == len(test["text"]) > 20
    more = regard("train", "--resume", "--run", tmp_path / "run", "data.fold=3", "training.max_updates=3")
    assert unsaid(more, "data.fold: cannot change in a run that has begun: 2 → 3") == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (["data.folds=5", "data.fold=6"], "data.fold: is 6, but there are 5 folds"),
        (["data.fold=2"], "data.fold: is 2, but there are no folds"),
        (["data.folds=1"], "data.folds"),
        (["data.stratified=true"], "data.stratified: needs cross-validation folds"),
        (["data.folds=5", "data.test={file}"], "data.folds: takes the test set from data.train"),
    ],
)
def test_folds_that_cannot_be_are_refused(changes, said, table, tmp_path):
    named = [change.replace("{file}", str(table)) for change in changes]
    assert unsaid(regard("train", table, *TINY, *named, "--run", tmp_path / "run"), said) == []


def test_a_text_whose_lines_follow_on_each_other_has_no_folds(tmp_path):
    (tmp_path / "novel.txt").write_text("a b c\n" * 50)
    done = regard("train", "--text", tmp_path / "novel.txt", "data.folds=5", "--run", tmp_path / "run")
    assert unsaid(done, "data.folds: needs independent examples") == []
