"""Terms, prefixes and several runs at the command line."""

import json

import pytest
from small_runs import SMALL, regard, unsaid, write_texts
from typer.testing import CliRunner

from regard.cli.app import app

LINES = "a dog runs\ntwo cats\nyes\n"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs of the same texts, and one whose vocabulary is another."""
    folder = tmp_path_factory.mktemp("runs")
    texts = write_texts(folder)
    for name, seed, size in (("a", 1, 300), ("b", 2, 300), ("other", 1, 290)):
        settings = [*SMALL, f"training.seed={seed}", f"text.tokenizer.size={size}"]
        assert regard("train", *texts, "--run", folder / name, *settings).code == 0
    return folder


def predicted(*words, given=LINES):
    done = CliRunner().invoke(app, ["predict", *map(str, words)], input=given)
    return done.exit_code, done.stdout.splitlines(), done.stderr


def test_terms_are_in_the_json_of_each_line(runs, tmp_path):
    terms = tmp_path / "terms.tsv"
    terms.write_text("dog\tHund\ncats\tKatzen|Kater\n", encoding="utf-8")
    code, lines, said = predicted(runs / "a", "--glossary", terms, "--json")
    found = [json.loads(line) for line in lines]
    assert code == 0
    assert [[one["source"] for one in each.get("terms", [])] for each in found] == [["dog"], ["cats"], []]
    missing = sum(not one["used"] for each in found for one in each.get("terms", []))
    for each in found:
        for one in each.get("terms", []):
            assert each["source"][slice(*one["place"])] == one["source"]
            assert not one["used"] or each["text"][slice(*one["target_place"])] in one["targets"]
    assert (f"{missing} of the 2 terms that were found are not used" in said) == (missing > 0)
    terms.write_text("dog Hund\ncats Katzen\n", encoding="utf-8")
    assert "no line has a translation" in predicted(runs / "a", "--glossary", terms)[2]


def test_answers_begin_with_their_prefixes(runs, tmp_path):
    prefixes = tmp_path / "prefixes.txt"
    prefixes.write_text("ein\n\nja\n", encoding="utf-8")
    code, lines, _ = predicted(runs / "a", "--prefix", prefixes)
    assert code == 0
    assert [lines[0][:3], lines[2][:2]] == ["ein", "ja"]
    prefixes.write_text("ein\n", encoding="utf-8")
    done = regard("predict", runs / "a", "--prefix", prefixes, given=LINES)
    assert unsaid(done, "stdin:2: there is no prefix for it", "has 1 lines") == []


@pytest.mark.parametrize(
    ("option", "hint"), [("--glossary", "source TAB target"), ("--prefix", "what its answer begins with")]
)
def test_a_file_that_is_missing_is_named_with_what_to_do(runs, tmp_path, option, hint):
    for path, why in ((tmp_path / "nofile.tsv", "No such file"), (tmp_path, "Is a directory")):
        done = regard("predict", runs / "a", option, path, given=LINES)
        assert unsaid(done, f"{path}: ", f"cannot be read: {why}", "name a file", hint) == []


def test_runs_write_together(runs):
    code, lines, _ = predicted(runs / "a", f"decoding.ensemble=[{runs / 'a'}]")
    assert (code, lines) == predicted(runs / "a")[:2]
    assert predicted(runs / "a", f"decoding.ensemble={runs / 'b'}", "decoding.ensemble_mean=probabilities")[0] == 0
    done = regard("predict", runs / "a", f"decoding.ensemble=[{runs / 'b'},{runs / 'other'}]", given=LINES)
    assert unsaid(done, "decoding.ensemble: ", "other' has another vocabulary of the source") == []


def test_a_change_may_be_longer_than_the_name_of_a_file(runs, tmp_path):
    """One that lists many features, say."""
    features = "decoding.features=[" + ", ".join(["{name: repetition, weight: 0.1}"] * 12) + "]"
    (tmp_path / "a.en").write_text(LINES, encoding="utf-8")
    (tmp_path / "a.de").write_text(LINES, encoding="utf-8")
    texts = ["--source", tmp_path / "a.en", "--target", tmp_path / "a.de"]
    assert len(features) > 255
    assert regard("evaluate", runs / "a", features, *texts).code == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("dog\t\n", "terms.tsv:1: the target is empty"),
        ("dog\tHund\ndog\tKatze\n", "terms.tsv:2: 'dog' is translated otherwise than in line 1"),
        (f"dog\t{'Hund ' * 120}\n", "more than a beam can place (100)"),
    ],
)
def test_a_glossary_that_cannot_be_used_is_one_line(runs, tmp_path, text, told):
    terms = tmp_path / "terms.tsv"
    terms.write_text(text, encoding="utf-8")
    assert unsaid(regard("predict", runs / "a", "--glossary", terms, given=LINES), told) == []
    assert unsaid(regard("predict", runs / "a", "--glossary", tmp_path / "none.tsv", given=LINES), "none.tsv") == []


def test_numerals_are_kept_unless_lines_are_raw(runs):
    given = "It is -5 °C, or +33 1 23 45 67 89.\n价格是€1,234.56。\n"
    wanted = (("-5 °C", "+33 1 23 45 67 89"), ("€1,234.56",))
    code, lines, said = predicted(runs / "a", given=given)
    assert (code, len(lines), "is lost" in said) == (0, 2, False)
    assert all(one in line for line, some in zip(lines, wanted, strict=True) for one in some)
    said = predicted(runs / "a", "--raw", "It is -5 °C.", given="")[2]
    assert "text 1: " in said and "stdin" not in said
    code, lines, _ = predicted(runs / "a", "--search", "beam", "--n-best", "2", given=given)
    assert (code, len(lines)) == (0, 3)  # what is only copied has no second answer
    assert all(one in line for line in lines for one in wanted[int(line[0])])
    code, _, said = predicted(runs / "a", "--raw", given=given)
    assert (code, "stdin:1: " in said, "'-5 °C' of the source is lost" in said) == (0, True, True)


def test_phrases_and_a_network_are_compared_on_the_same_texts(runs):
    texts = write_texts(runs)
    assert regard("train", *texts, "--run", runs / "phrases", "task=phrases", "task.rounds=0", "--quiet").code == 0
    done = CliRunner().invoke(app, ["evaluate", *map(str, (runs / "phrases", runs / "a", *texts, "--json"))])
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["systems"]) == 2 and found["comparisons"]
