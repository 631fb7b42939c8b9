"""regard.sklearn: an estimator that scikit-learn's pipelines, searches and cross-validation take."""

import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import regard
from regard.errors import ConfigError, DataError

base = pytest.importorskip("sklearn.base")
metrics = pytest.importorskip("sklearn.metrics")
selection = pytest.importorskip("sklearn.model_selection")
pipeline = pytest.importorskip("sklearn.pipeline")
processing = pytest.importorskip("sklearn.preprocessing")
TextClassifier = pytest.importorskip("regard.sklearn").TextClassifier

WORDS = {"good": ["fine", "witty", "warm"], "bad": ["dull", "slow", "cold"], "so-so": ["long", "short", "old"]}
X = [f"a {word} film number {number}" for number in range(14) for words in WORDS.values() for word in words]
Y = [label for _ in range(14) for label, words in WORDS.items() for _ in words]
QUICK = ["training.max_updates=60", "training.validate_every=30", "training.average=1", "model.dim=16",
         "text.tokenizer={name: words, size: 300}", "training.workers=0", "training.batch_sentences=32"]  # fmt: skip


@pytest.fixture(scope="module")
def fitted():
    return TextClassifier(QUICK, random_state=3).fit(X, Y)


def test_it_learns_and_predicts_the_labels_it_was_given(fitted, capfd):
    assert fitted.classes_.tolist() == ["bad", "good", "so-so"]
    found = fitted.predict(["a witty film", "a dull one", "an old one"])
    assert found.tolist() == ["good", "bad", "so-so"]
    assert fitted.score(X, Y) == metrics.accuracy_score(Y, fitted.predict(X)) > 0.95
    assert capfd.readouterr() == ("", "")


def test_probabilities_are_those_of_the_run(fitted):
    texts = ["a witty film", "a cold\nfilm"]
    found = fitted.predict_proba(texts)
    assert found.shape == (2, 3)
    assert found.sum(axis=1) == pytest.approx(1)
    oracle = regard.load(fitted.run_).predict(["a witty film", "a cold film"])
    for row, one in zip(found, oracle, strict=True):
        assert dict(zip(fitted.classes_, row, strict=True)) == pytest.approx(dict(one.probabilities))
    assert metrics.log_loss(Y, fitted.predict_proba(X), labels=fitted.classes_) < 0.5
    assert fitted.predict_proba([]).shape == (0, 3)


def test_its_parameters_are_cloned_and_set():
    known = TextClassifier(QUICK, max_minutes=2, dev_fraction=0.2)
    again = base.clone(known).set_params(max_minutes=3)
    assert again.get_params() == {**known.get_params(), "max_minutes": 3}
    with pytest.raises(ValueError, match="not fitted"):
        again.predict(X)


def test_labels_keep_their_type():
    numbers = np.array([{"bad": 2, "good": 10, "so-so": 30}[label] for label in Y])
    found = TextClassifier(QUICK).fit(np.array(X, object).reshape(-1, 1), numbers)
    assert found.classes_.tolist() == [2, 10, 30]
    assert found.predict(["a witty film"]).dtype == numbers.dtype


class Frame:
    """A table of one column, whose iterator gives names of columns, as that of pandas does."""

    def __init__(self, values):
        self.values, self.shape = np.array(values).reshape(-1, 1), (len(values), 1)

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        return iter(["label"])

    def __array__(self, dtype=None, copy=None):
        return self.values.astype(dtype) if dtype else self.values


@pytest.mark.parametrize("column", [Frame(Y), np.array(Y).reshape(-1, 1)])
def test_labels_of_a_column_are_those_of_a_list(fitted, column):
    with pytest.warns(match="column-vector"):
        found = TextClassifier(QUICK, random_state=3).fit(X, column)
    assert np.array_equal(found.classes_, fitted.classes_)
    assert found.predict_proba(X[:5]) == pytest.approx(fitted.predict_proba(X[:5]))


def test_a_lone_surrogate_in_a_text_is_a_replacement_character(fitted):
    found = TextClassifier(QUICK, random_state=3).fit(["a good\ud800 film", *X[1:]], Y)
    other = TextClassifier(QUICK, random_state=3).fit(["a good\ufffd film", *X[1:]], Y)
    assert np.array_equal(found.predict_proba(["good\ud800"]), other.predict_proba(["good\ufffd"]))


def test_a_grid_search_over_a_pipeline_finds_the_settings_that_learn():
    lower = processing.FunctionTransformer(lambda texts: [text.lower() for text in texts])
    steps = pipeline.Pipeline([("lower", lower), ("classify", TextClassifier(QUICK, random_state=1))])
    hopeless = [*QUICK, "training.max_updates=1", "training.validate_every=1"]
    search = selection.GridSearchCV(steps, {"classify__changes": [hopeless, QUICK]}, cv=2, scoring="neg_log_loss")
    search.fit([text.upper() for text in X], Y)
    assert search.best_params_ == {"classify__changes": QUICK}
    assert search.best_estimator_.predict(["A WITTY FILM"]).tolist() == ["good"]


def test_cross_validation_scores_each_fold():
    scores = selection.cross_val_score(TextClassifier(QUICK), X, Y, cv=3)
    assert len(scores) == 3 and scores.min() > 0.8


def test_a_pickled_estimator_takes_its_run_along(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    assert again.run_ != fitted.run_
    assert np.array_equal(again.predict_proba(X[:5]), fitted.predict_proba(X[:5]))
    folder = again.run_
    del again
    assert not folder.exists()


def test_a_given_folder_keeps_the_run(tmp_path):
    found = TextClassifier(QUICK, run=tmp_path / "run").fit(X, Y)
    assert found.run_ == tmp_path / "run"
    assert regard.load(tmp_path / "run").predict(["a witty film"])[0].text == "good"
    with pytest.raises(ConfigError, match="exists"):
        found.fit(X, Y)


def test_a_temporary_run_goes_with_its_estimator():
    found = TextClassifier(QUICK).fit(X, Y)
    folder = Path(found.run_)
    assert folder.exists()
    del found
    assert not folder.exists()


@pytest.mark.parametrize(
    ("texts", "labels", "error", "said"),
    [
        ([1.0, 2.0], ["a", "b"], TypeError, r"X\[0\] is of type float"),
        ("a text", ["a"], TypeError, "not one text"),
        (["a", "b"], ["a"], ValueError, "inconsistent numbers of samples"),
        ([], [], DataError, "X and y: are empty"),
        (["a", "b"], ["a", "a "], DataError, "y: labels must be different as texts"),
        (["a", "b"], ["a", "good\ud800"], DataError, "lone surrogates"),
        (["a", "b"], np.array([["a", "b"], ["b", "a"]]), ValueError, "1d array"),
        (["one", "two"], ["a", "b"], DataError, "^X and y: "),
        (["a text", "another"], ["a", "a"], DataError, "^y: .*'a'"),
    ],
)
def test_what_cannot_be_fitted_is_one_line(texts, labels, error, said):
    with pytest.raises(error, match=said):
        TextClassifier(QUICK).fit(texts, labels)


def test_the_block_of_the_page_runs(capfd):
    page = (Path(__file__).parents[1] / "docs/how-to/classify.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.+?)```", page, re.DOTALL)
    names = {}
    exec(block, names)
    assert names["search"].predict(["a witty film", "a dull film"]).tolist() == ["good", "bad"]
