"""Write word vectors, and the same under a random rotation: a dictionary of which every pair is known.

python benchmarks/rotated_vectors.py RUN a.vec b.vec --words 3000 --seed 1
"""

import argparse
from pathlib import Path

import numpy as np

from regard.runs.embeddings import read_embeddings
from regard.text.vector_files import write_word2vec
from regard.text.vector_table import VectorTable


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="Word vectors: a run, or a file of vectors.")
    parser.add_argument("files", type=Path, nargs=2, help="Files of the vectors and of the rotated vectors.")
    parser.add_argument("--words", type=int, default=3_000, help="Most frequent words to write.")
    parser.add_argument("--seed", type=int, default=1, help="Seed of the rotation and of the order of its words.")
    parser.add_argument("--noise", type=float, default=0.0, help="Length of Gaussian noise, of that of each vector.")
    given = parser.parse_args()
    table, generator = read_embeddings(given.run).table, np.random.default_rng(given.seed)
    words, vectors = table.words[: given.words], table.vectors[: given.words].astype(np.float64)
    rotation = np.linalg.qr(generator.standard_normal((vectors.shape[1],) * 2))[0]
    order = generator.permutation(len(words))
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True) / vectors.shape[1] ** 0.5
    other = vectors @ rotation + given.noise * lengths * generator.standard_normal(vectors.shape)
    rotated = VectorTable([words[row] for row in order], other[order].astype(np.float32))
    for file, one in zip(given.files, (VectorTable(words, table.vectors[: given.words]), rotated), strict=True):
        write_word2vec(file, one)


if __name__ == "__main__":
    main()
