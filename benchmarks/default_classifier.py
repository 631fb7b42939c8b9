"""Accuracy of the default classifier beside classifiers that scikit-learn's users try first, on the same lines.

    REGARD_DATA=PATH python benchmarks/default_classifier.py [SET ...] [--seeds 3] [--changes KEY=VALUE ...]

A tenth of a set, by a hash of its texts, is the test set where it has none of its own. scikit-learn's
classifiers read words and pairs of words, too: TF-IDF (sublinear) with a linear support vector machine or logistic
regression (C = 10), and counts with naive Bayes. Seconds are of the processor, reading and answers included; those
of scikit-learn's stand beside their accuracy. The result is a table in Markdown.
"""

import argparse
import gzip
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from random import Random
from statistics import fmean, stdev
from typing import Any

from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import regard

Rows = list[tuple[str, str]]  # a text and its label
WORDS = {"ngram_range": (1, 2), "token_pattern": r"\S+"}
PEERS: dict[str, Callable[[], Any]] = {
    "TF-IDF, linear SVM": lambda: make_pipeline(TfidfVectorizer(sublinear_tf=True, **WORDS), LinearSVC()),
    "TF-IDF, logistic": lambda: make_pipeline(
        TfidfVectorizer(sublinear_tf=True, **WORDS), LogisticRegression(C=10, max_iter=300)
    ),
    "naive Bayes": lambda: make_pipeline(CountVectorizer(binary=True, **WORDS), MultinomialNB()),
}
SETS = ("CR", "MR", "MR, 1,000", "MPQA", "SUBJ", "SST-2", "TREC", "IMDB, 5,000", "SemEval")


def rows(name: str, label: int = 0, text: int = 1) -> Rows:
    """Return the texts and labels of a table with these columns."""
    with gzip.open(Path(os.environ["REGARD_DATA"]) / name, "rt", encoding="utf-8") as file:
        found = [line.rstrip("\n").split("\t") for line in file]
    return [(row[text], row[label]) for row in found if len(row) > max(label, text) and row[text].strip()]


def parts(name: str) -> tuple[Rows, Rows]:
    """Return the training set and the test set of a collection."""
    if name == "TREC":
        return rows("sentcls/trec.train.tsv.gz", text=2), rows("sentcls/trec.test.tsv.gz", text=2)
    if name == "SST-2":
        return rows("sentcls/sst2.train.tsv.gz"), rows("sentcls/sst2.test.tsv.gz")
    if name == "SemEval":  # 19 relations of two marked words
        return rows("semeval2010_task8/train.tsv.gz", 1, 2), rows("semeval2010_task8/test.tsv.gz", 1, 2)
    draw = Random(1)
    if name.startswith("IMDB"):
        reviews = draw.sample(rows("imdb/train.tsv.gz", 1, 3), 10_000)
        return reviews[:5_000], reviews[5_000:]
    every = rows(f"sentcls/{name.partition(',')[0].lower()}.all.tsv.gz")
    tests = [row for row in every if sha256(row[0].encode()).digest()[0] % 10 == 0]
    train = [row for row in every if sha256(row[0].encode()).digest()[0] % 10]
    return (draw.sample(train, 1_000) if "," in name else train), tests


def trained(train: Rows, texts: Sequence[str], changes: Sequence[str]) -> list[str]:
    """Return the answers of a run that was trained by its defaults."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "train.tsv"
        table.write_text("".join(f"{label}\t{text}\n" for text, label in train), encoding="utf-8")
        given = ["training.threads=1", "data.test_fraction=0", *changes]
        run = regard.train(text=table, run=Path(folder) / "run", quiet=True, changes=given)
        return [found.text for found in regard.load(run).predict(texts)]


def fitted(made: Callable[[], Any], read: Sequence[str], kinds: Sequence[str], texts: Sequence[str]) -> Sequence[str]:
    """Return the answers of a classifier of scikit-learn."""
    answers: Sequence[str] = made().fit(read, kinds).predict(texts)
    return answers


def measured(answer: Callable[[], Sequence[str]], labels: Sequence[str]) -> tuple[float, float]:
    """Return the accuracy of answers in per cent, and the seconds that they take."""
    start = time.process_time()
    right = 100 * fmean(map(str.__eq__, answer(), labels))
    return right, time.process_time() - start


def row(name: str, seeds: int, changes: Sequence[str]) -> str:
    """Return a row of the table: accuracies in per cent, and seconds."""
    train, tests = parts(name)
    read, kinds = zip(*train, strict=True)
    texts, labels = zip(*tests, strict=True)
    cells = [name, f"{len(train):,}", f"{len(tests):,}"]
    for made in PEERS.values():
        accuracy, seconds = measured(partial(fitted, made, read, kinds, texts), labels)
        cells.append(f"{accuracy:.1f} ({seconds:.1f} s)")
    asked = [[f"training.seed={seed}", *changes] for seed in range(1, seeds + 1)]
    own = [measured(partial(trained, train, texts, one), labels) for one in asked]
    accuracies, times = zip(*own, strict=True)
    spread = f" ± {stdev(accuracies):.1f}" if seeds > 1 else ""
    return f"| {' | '.join([*cells, f'{fmean(accuracies):.1f}{spread}', f'{fmean(times):.0f}'])} |"


def main() -> None:
    """Prints a row for each set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=SETS, metavar="SET", help=" · ".join(SETS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--changes", nargs="*", default=[], metavar="KEY=VALUE")
    asked = parser.parse_args()
    print("| set | lines | tests |", " | ".join(PEERS), "| the default | seconds |")
    print("|---|" + "---:|" * (len(PEERS) + 4))
    for name in asked.sets:
        print(row(name, asked.seeds, asked.changes), flush=True)


if __name__ == "__main__":
    main()
