"""The benchmark of alignment: rates of every symmetrisation, and links of another program."""

import gzip

import pytest

from benchmarks import benchmark
from regard.statistical.symmetrisation import SYMMETRISATIONS

alignment = benchmark("alignment")


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A gold set of two sentences, all on the diagonal."""
    texts = {"ro": "una casa\nuna carte\n", "en": "A house\na book\n", "gold": "1-1 2-2\n1-1 2-2\n"}
    (tmp_path / "alignment").mkdir()
    for side, text in texts.items():
        (tmp_path / "alignment" / f"ro-en.{side}.gz").write_bytes(gzip.compress(text.encode()))
    monkeypatch.setattr(alignment, "DATA", tmp_path)


def test_a_table_has_every_model_and_another_program(data, monkeypatch):
    program = "sh -c 'while read line; do echo 0-1; done < {text} | tee {forward} > {reverse}'"
    monkeypatch.setattr(alignment, "WAYS", alignment.WAYS[-1:])
    title, *rows = alignment.tables("ro-en", program)
    assert "2 sentences with links, 2 to learn from" in title
    cells = [row.strip("| ").split(" | ") for row in rows]
    assert [row[0] for row in cells] == ["model", "---", "on the diagonal", "ibm1", "ibm2", "diagonal", "hmm", "sh"]
    assert cells[2][2:9] == ["0.0"] * len(SYMMETRISATIONS)
    assert cells[-1][2:9] == ["100.0"] * len(SYMMETRISATIONS)


def test_words_are_parted_from_signs():
    assert alignment.words("Ein Haus, dort.") == ["ein", "haus", ",", "dort", "."]
