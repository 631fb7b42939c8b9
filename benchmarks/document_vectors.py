"""What vectors of documents give a classifier: logistic regression on those of film reviews (IMDB).

    REGARD_DATA=PATH python benchmarks/document_vectors.py RUN [--train 25000] [--test 12500] [--own] [--json FILE]

RUN is a trained run of `configs/pretraining/imdb-document-vectors.yaml` or its like, which has read the training part
without its labels. The reviews that teach the classifier and those that judge it get vectors by inference from their
words; with --own those of the training part are the ones that training gave. Numbers are scaled to mean 0 and
deviation 1 by the training part; the penalty is chosen by a tenth of it.
"""

import json
import time
from pathlib import Path
from typing import cast

import torch
from program import DATA, options, save
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

import regard
from regard.data import READERS
from regard.models.document_vectors import DocumentVectors
from regard.registry import Choice
from regard.runs.embeddings import read_embeddings
from regard.tasks.document_vectors import DocumentVectorsTask

PENALTIES = (1e-5, 1e-4, 1e-3, 1e-2)
CHUNK = 500  # texts between two lines of progress


def reviews(part: str, count: int) -> tuple[list[str], list[str], Tensor]:
    """Names, texts and labels (review,) of the first reviews of a part."""
    fields = {"document": 1, "label": 2, "text": 4}
    settings = {"file": str(DATA / "imdb" / f"{part}.tsv.gz"), "fields": fields}
    rows = [one.texts for one in READERS.build(Choice("tsv", settings), tuple(fields))][:count]
    labels = torch.tensor([float(row["label"]) for row in rows])
    return [row["document"] for row in rows], [row["text"] for row in rows], labels


def inferred(predictor: regard.Predictor, texts: list[str]) -> Tensor:
    """Vectors (text, dim) by inference."""
    task, model = cast(DocumentVectorsTask, predictor.task), cast(DocumentVectors, predictor.model)
    rows = list[Tensor]()
    for first in range(0, len(texts), CHUNK):
        with torch.inference_mode():
            rows += task.inferred(model, task.text.encode_batch(texts[first : first + CHUNK]))
        print(f"{len(rows):,} of {len(texts):,} texts", flush=True)
    return torch.stack(rows)


def fitted(vectors: Tensor, labels: Tensor, penalty: float) -> Tensor:
    """Weights (dim + 1,) of a logistic regression, the constant last, with a penalty on the squares of the others."""
    weights = torch.zeros(vectors.shape[1] + 1, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        logits = vectors @ weights[:-1] + weights[-1]
        found = binary_cross_entropy_with_logits(logits, labels) + penalty * weights[:-1].square().sum()
        found.backward()
        return found

    optimizer.step(loss)
    return weights.detach()


def accuracy(weights: Tensor, vectors: Tensor, labels: Tensor) -> float:
    """The share of texts whose label is right."""
    return float((((vectors @ weights[:-1] + weights[-1]) > 0) == labels.bool()).double().mean())


def main() -> None:
    """Infer, fit, judge and print."""
    parser = options(__doc__, train=25_000, test=12_500)
    parser.add_argument("run", type=Path)
    parser.add_argument("--own", action="store_true")
    given = parser.parse_args()
    predictor, start = regard.load(given.run), time.perf_counter()
    names, texts, labels = reviews("train", given.train)
    _, test_texts, test_labels = reviews("test", given.test)
    if given.own:
        table = read_embeddings(given.run, "document").table
        vectors = torch.stack([torch.from_numpy(table.vector(name)) for name in names])
    else:
        vectors = inferred(predictor, texts)
    evaluated = inferred(predictor, test_texts)
    mean, deviation = vectors.mean(dim=0), vectors.std(dim=0)
    vectors, evaluated = (((one - mean) / deviation).double() for one in (vectors, evaluated))
    labels, test_labels = labels.double(), test_labels.double()
    kept = len(vectors) * 9 // 10
    by_penalty = {one: fitted(vectors[:kept], labels[:kept], one) for one in PENALTIES}
    best = max(PENALTIES, key=lambda one: accuracy(by_penalty[one], vectors[kept:], labels[kept:]))
    found = {
        "train": len(vectors),
        "test": len(evaluated),
        "own": given.own,
        "penalty": best,
        "accuracy": accuracy(fitted(vectors, labels, best), evaluated, test_labels),
        "seconds": time.perf_counter() - start,
    }
    print(json.dumps(found, indent=1))
    save(given.json, found)


if __name__ == "__main__":
    main()
