"""regard dictionary: input that cannot give a dictionary ends with one line."""

import pytest
from typer.testing import CliRunner

from regard.cli.app import app

PLANE = "3 2\na 1 0\nb 0 1\nc 1 1\n"
OTHER = "3 2\nx 1 0\ny 0 1\nz 1 1\n"
SPACE = "3 3\nx 1 0 0\ny 0 1 0\nz 1 1 0\n"


@pytest.fixture
def dictionary(tmp_path):
    def run(source, target, *more, seed=""):
        files = {"a.vec": source, "b.vec": target, "seed.tsv": seed}
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        paths = [f"{tmp_path}/{word}" if word in files else word for word in ("a.vec", "b.vec", *more)]
        return CliRunner().invoke(app, ["dictionary", *paths, "--quiet"])

    return run


@pytest.mark.parametrize(
    ("target", "more", "seed", "problem"),
    [
        (SPACE, [], "", "vectors: both languages need vectors of one dimension, not 2 and 3"),
        (OTHER, ["--seed-pairs", "seed.tsv"], "q\tr\n", "no pair of the seed dictionary has vectors in both languages"),
        (OTHER, ["--seed-pairs", "seed.tsv"], "alone\n", "'alone' is not a pair of words"),
        (OTHER, [], "", "no pair of the seed dictionary has vectors in both languages"),  # no words spelt alike
    ],
)
def test_vectors_and_seeds_without_use_are_refused_in_a_line(dictionary, target, more, seed, problem):
    done = dictionary(PLANE, target, *more, seed=seed)
    assert (done.exit_code, done.stdout) == (2, "")
    assert problem in done.stderr and done.stderr.count("\n") == 1


def test_words_spelt_alike_find_each_other(dictionary):
    done = dictionary(PLANE, PLANE)
    assert done.exit_code == 0
    assert [line.split("\t")[:2] for line in done.stdout.splitlines()] == [["a", "a"], ["b", "b"], ["c", "c"]]
