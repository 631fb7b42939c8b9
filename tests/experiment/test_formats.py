"""What format a file has whose name does not tell it."""

import warnings

import pytest

from regard.errors import ConfigError
from regard.experiment import load_experiment, read_experiment, text_settings
from regard.experiment.layouts import holds_sentences


@pytest.mark.parametrize(
    ("rows", "sentences"),
    [
        (["a\tDET", "dog\tNOUN", "", "it\tPRON", "is\tAUX"], True),
        (["a\tDET", "dog\tNOUN", "it\tPRON", "is\tAUX"], False),  # nothing parts the sentences
        (["good\ta film", "", "bad\ta book", "", "good\tone"], False),  # a table with empty lines
        (["a good film\t+", "a bad one\t-", "", "a long one\t-", "a short one\t+"], False),  # texts
        (["a", "dog", "", "it", "is"], False),  # no tags
    ],
)
def test_empty_lines_between_rows_of_words_are_of_sentences(tmp_path, rows, sentences):
    path = tmp_path / "some.tsv"
    path.write_text("".join(f"{row}\n" for row in rows))
    assert holds_sentences(path) is sentences


WORDS = "".join(f"a\tDET\nword{n}\tNOUN\n\n" for n in range(30))


def test_a_table_of_words_with_empty_lines_trains_a_tagger_whose_other_parts_are_read_alike(tmp_path):
    (tmp_path / "train.tsv").write_text(WORDS)
    (tmp_path / "test.tsv").write_text(WORDS)
    task, data = text_settings(str(tmp_path / "train.tsv"))
    assert task == ["task.name=tagging"]
    said: list[str] = []
    experiment = read_experiment(None, [*task, *data, f"data.dev={tmp_path / 'test.tsv'}"], say=said.append)
    found = "tags in field 2 (2: DET, NOUN), text in field 1"
    assert said[:2] == [f"train.tsv: {found}", f"test.tsv: {found}"]
    experiment.save(tmp_path / "saved.yaml")
    for name in ("test.tsv", "plain.txt"):
        (tmp_path / name).write_text(WORDS)
        changed = load_experiment(tmp_path / "saved.yaml", [f"data.test={tmp_path / name}"])
        assert (changed.data.dev.name, changed.data.test.name) == ("conll", "conll")
        assert changed.data.test.settings["file"] == str(tmp_path / name)
    (tmp_path / "test.csv").write_text("a,DET\n")
    assert load_experiment(tmp_path / "saved.yaml", [f"data.test={tmp_path / 'test.csv'}"]).data.test.name == "csv"


def test_a_file_whose_format_nothing_tells_is_not_called_missing(tmp_path):
    (tmp_path / "plain.txt").write_text("a\n")
    with pytest.raises(ConfigError, match=r"data\.train: is '.*plain\.txt', whose ending is not that of a format"):
        read_experiment(None, [f"data.train={tmp_path / 'plain.txt'}"])


def test_a_text_is_told_its_column(tmp_path):
    file = tmp_path / "plain.txt"
    file.write_text("a b\nb a\n")
    given = ["task=language_model", f"data.train.text={file}", f"data.test={file}"]
    with pytest.raises(ConfigError, match=r"data\.test: .*\(a text: data\.test\.text=.*plain\.txt\)"):
        read_experiment(None, given)
    read_experiment(None, given[:2]).save(tmp_path / "saved.yaml")
    with pytest.raises(ConfigError, match=r"a text: data\.test\.text="):
        load_experiment(tmp_path / "saved.yaml", given[2:])


def test_a_part_of_the_task_default_takes_its_settings(tmp_path):
    (tmp_path / "plain.txt").write_text("a b\nb a\n")
    given = [f"data.train.text={tmp_path / 'plain.txt'}", "text.tokenizer.min_count=2"]
    tokenizer = read_experiment(None, ["task=word_vectors", *given]).text.tokenizer
    assert (tokenizer.name, tokenizer.settings["min_count"], tokenizer.settings["signs"]) == ("uncased_words", 2, False)
    with pytest.raises(ConfigError, match=r"text\.tokenizer\.min_count: there is no such setting"):
        read_experiment(None, ["task=language_model", *given])


def test_a_table_with_a_label_that_is_to_be_translated_is_warned_of(tmp_path):
    path = tmp_path / "small.tsv"
    path.write_text("".join(f"{'good' if n % 2 else 'bad'}\ta text of number {n}\n" for n in range(20)))
    with pytest.warns(UserWarning, match=r"field 1 of small\.tsv looks like a label: .* regard train --text .*small"):
        read_experiment(path)
    path.write_text("".join(f"ein Text Nummer {n}\ta text of number {n}\n" for n in range(20)))
    with warnings.catch_warnings(action="error"):
        assert set(read_experiment(path).columns) == {"source", "target"}
