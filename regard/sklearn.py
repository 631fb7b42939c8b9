"""A classifier of texts for scikit-learn: pipelines, grid search and cross-validation.

>>> from regard.sklearn import TextClassifier
>>> classifier = TextClassifier(max_minutes=1).fit(["a fine film", "a dull film"], ["good", "bad"])
>>> classifier.predict_proba(["so fine"])

Needs scikit-learn: pip install 'regard[sklearn]'.
"""

import json
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils import column_or_1d
    from sklearn.utils.validation import check_consistent_length, check_is_fitted
except ImportError as error:
    raise ImportError("regard.sklearn needs scikit-learn: pip install 'regard[sklearn]'") from error

from regard.config import quoted
from regard.errors import DataError
from regard.predictor import Predictor, load
from regard.runs import train
from regard.text.clean import without_surrogates

_TABLE = "examples.jsonl"  # in a folder of its own while a run is trained


class TextClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A run of `task=classification` as an estimator: `fit` trains it as `regard train` does.

    After `fit` it has `classes_`, the labels in sorted order, and `run_`, the folder of the run: any command of
    `regard` opens it.
    """

    def __init__(
        self,
        changes: Sequence[str] = (),
        *,
        config: PathLike[str] | str | None = None,
        run: PathLike[str] | str | None = None,
        max_minutes: float | None = None,
        dev_fraction: float = 0.1,
        random_state: int | None = None,
        quiet: bool = True,
    ) -> None:
        """Keep the parameters as they are given, as scikit-learn's `clone` needs them.

        Args:
            changes: Settings, as of `regard.train`: ["model.dim=32", "training.max_epochs=5"].
            config: A config file that the settings change.
            run: Folder of the run, which must be free; None: a temporary one, which goes with the estimator.
            max_minutes: Time limit of training, in minutes.
            dev_fraction: Fraction held out as dev set for early stopping.
            random_state: Seed of the training; None: that of the settings.
            quiet: Print nothing.
        """
        self.changes, self.config, self.run, self.max_minutes = changes, config, run, max_minutes
        self.dev_fraction, self.random_state, self.quiet = dev_fraction, random_state, quiet

    def fit(self, X: Iterable[str], y: Iterable[Any]) -> Self:  # noqa: N803  scikit-learn names it so
        """Train a run on texts and their labels, of any type that can be sorted: a list, an array or a column.

        Raises DataError for no texts, a single label and labels that are the same as text, and what `regard.train`
        raises.
        """
        texts, labels = _texts(X), column_or_1d(y, warn=True) if hasattr(y, "shape") else np.asarray(list(y))
        check_consistent_length(texts, labels)
        if not texts:
            raise DataError("X and y", "are empty", hint="texts and their labels")
        classes, numbers = np.unique(labels, return_inverse=True)
        names = _names(classes)
        if len(names) < 2:
            raise DataError("y", f"every text has the label {names[0]!r}", hint="texts of two labels or more")
        run = self._own_folder() / "run" if self.run is None else Path(self.run)
        with tempfile.TemporaryDirectory(prefix="regard-") as place:
            table = Path(place) / _TABLE
            rows = ({"text": text, "label": names[number]} for text, number in zip(texts, numbers, strict=True))
            table.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
            config = None if self.config is None else Path(self.config)
            try:
                trained = train(config, self._settings(table), run=run, quiet=self.quiet)
            except DataError as error:
                if Path(error.path) != table:
                    raise
                raise DataError("X and y", error.problem, line=error.line, hint=error.hint) from error
        self.classes_, self.run_ = classes, trained.folder
        self._predictor: Predictor | None = None
        return self

    def predict_proba(self, X: Iterable[str]) -> np.ndarray[Any, np.dtype[np.float64]]:  # noqa: N803  scikit-learn names it so
        """Return the probability of each label, (text, label), in the order of `classes_`."""
        found = self._opened().predict(_texts(X))
        names = _names(self.classes_)
        rows = [[one.label_probabilities()[name] for name in names] for one in found]
        chances = np.array(rows, np.float64).reshape(len(found), len(names))
        return chances / chances.sum(axis=1, keepdims=True)  # float32's sum is not close enough to 1 for scikit-learn

    def predict(self, X: Iterable[str]) -> np.ndarray[Any, Any]:  # noqa: N803  scikit-learn names it so
        """Return the label of each text."""
        found = self._opened().predict(_texts(X))
        places = {name: place for place, name in enumerate(_names(self.classes_))}
        return self.classes_[[places[one.text] for one in found]]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def __sklearn_tags__(self) -> Any:
        """Texts go in, one each: no table of numbers."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.one_d_array, tags.input_tags.string = False, True, True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Return the parameters and the files of the run: a pickled estimator takes them along."""
        state = dict(super().__getstate__())
        if self.__sklearn_is_fitted__():
            state |= {"_predictor": None, "run_": None, "files": _packed(self.run_)}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Write the files of the run into a temporary folder."""
        files = state.pop("files", None)
        super().__setstate__(state)
        if files is not None:
            self.run_ = self._own_folder()
            for name, content in files.items():
                (self.run_ / name).parent.mkdir(parents=True, exist_ok=True)
                (self.run_ / name).write_bytes(content)

    def _own_folder(self) -> Path:
        """Return a new temporary folder, which goes with the estimator."""
        folder = tempfile.mkdtemp(prefix="regard-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)

    def _settings(self, table: Path) -> list[str]:
        """Return all settings: those of the estimator's parameters come last."""
        reader = f"{{name: jsonl, file: {quoted(str(table))}, fields: {{text: text, label: label}}}}"
        named = {
            "task.name": "classification" if self.config is None else None,
            "data.dev_fraction": self.dev_fraction,
            "training.max_minutes": self.max_minutes,
            "training.seed": self.random_state,
        }
        given = [f"{name}={value}" for name, value in named.items() if value is not None]
        return [f"data.train={reader}", *self.changes, *given]

    def _opened(self) -> Predictor:
        """Return the run, opened once."""
        check_is_fitted(self)
        if self._predictor is None:
            self._predictor = load(self.run_)
        return self._predictor


def _texts(given: Iterable[str]) -> list[str]:
    """Return texts without line breaks, of a list, an array or a column. Raises TypeError for anything else."""
    if isinstance(given, str):
        raise TypeError("X must be a list of texts, not one text")
    found: list[Any] = np.asarray(given, object).ravel().tolist() if hasattr(given, "shape") else list(given)
    strange = next((place for place, one in enumerate(found) if not isinstance(one, str)), None)
    if strange is not None:
        raise TypeError(f"X must be a list of texts: X[{strange}] is of type {type(found[strange]).__name__}")
    return [" ".join(text.split("\n")) for text in found]


def _names(classes: Iterable[Any]) -> list[str]:
    """Return the labels as the run has them. Raises DataError for labels that no file keeps apart."""
    names = [str(one).strip() for one in classes]
    if len({*names}) < len(names) or "" in names or any("\n" in one or without_surrogates(one) != one for one in names):
        problem = "labels must be different as texts, in one line, not empty and without lone surrogates"
        raise DataError("y", problem, hint="encode them as numbers: sklearn.preprocessing.LabelEncoder")
    return names


def _packed(run: Path) -> dict[str, bytes]:
    """Return the content of each file of a run."""
    return {path.relative_to(run).as_posix(): path.read_bytes() for path in run.rglob("*") if path.is_file()}
