"""One rule for the first line of a table of pairs, in training, best, forecast and the check of data."""

import pytest
from small_runs import SMALL, regard

from regard.data.toy import pairs
from regard.experiment import read_experiment
from regard.reports.data_check.check_data import read_text_pairs
from regard.text.column_names import column_names

ROWS = [*pairs("de", 120, 1)]  # English, German


@pytest.mark.parametrize(
    ("first", "named"),
    [
        (("source", "target"), True),
        (("src", " TRG"), True),
        (("english", "german"), True),
        (("en", "de"), True),
        (("en-US", "de"), True),
        (("English", "de"), True),
        (("it", "es"), False),  # a pair: these are not the languages of the columns
        (("de", "en"), False),
        (("text", "Text"), False),
        (("en", "en"), False),
        (("target", "Ziel"), False),
        (("yes", "ja"), False),
    ],
)
def test_column_names_are_sides_languages_or_the_codes_of_their_columns(first, named):
    assert column_names([first, *ROWS]) == (tuple(cell.strip() for cell in first) if named else None)


def test_an_empty_table_and_one_row_have_no_languages():
    assert column_names([]) is None and column_names([("en", "de")]) is None
    assert column_names([("source", "target")]) == ("source", "target")


def table(folder, first):
    path = folder / "pairs.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in [first, *ROWS]), encoding="utf-8")
    return path


@pytest.mark.parametrize(("first", "count"), [(("en", "de"), 120), (("it", "es"), 121)])
def test_all_commands_read_the_first_line_alike(tmp_path, first, count):
    said, path = list[str](), table(tmp_path, first)
    read = read_text_pairs([path], said.append)
    experiment = read_experiment(path, [*SMALL, "data.dev_fraction=0", "data.test_fraction=0"], say=said.append)
    reader = experiment.reader("train")
    assert len(read) == count and reader.settings.get("header", False) is (count == 120)
    lines = [line for line in said if "read as column names: en, de" in line]
    assert len(lines) == 2 * (count == 120) and all("data.train.header=false" in line for line in lines[1:])
    kept = read_experiment(path, [*SMALL, "data.train.header=false"], say=said.append)
    assert not kept.reader("train").settings["header"]


def test_files_of_pairs_of_any_kind_are_read(tmp_path):
    unit = '<tu><tuv xml:lang="en"><seg>a dog</seg></tuv><tuv xml:lang="de"><seg>ein Hund</seg></tuv></tu>'
    for name, text in {
        "a.tsv": "a dog\tein Hund\n",
        "a.tmx": f"<tmx><body>{unit}</body></tmx>",
        "a.po": 'msgid "a dog"\nmsgstr "ein Hund"\n',
    }.items():
        (tmp_path / name).write_text(text)
        assert read_text_pairs([tmp_path / name]) == [("a dog", "ein Hund")]


def test_the_check_reports_the_column_names(tmp_path):
    done = regard("data", "check", table(tmp_path, ("en", "de")))
    assert "pairs.tsv: first line read as column names: en, de" in done.said


def test_further_tables_have_column_names_too(tmp_path):
    path = table(tmp_path, ("source", "target"))
    more = [f"data.corpora.more={path}", f"data.dev={path}", f"data.routes.fr.train={path}", "data.languages=[en,de]"]
    model = ["model={name: one_to_many, languages: [de, fr], dim: 16}"]
    data = read_experiment(path, [*model, *more], say=lambda line: None).data
    readers = data.readers()
    assert {part: one.settings.get("header") for part, one in readers.items()} == dict.fromkeys(readers, True)
