"""The texts that contenders share, and alignments against gold links by hand."""

from types import SimpleNamespace

import pytest

from regard.errors import ConfigError, DataError
from regard.evaluation import GoldAlignment
from regard.experiment import DataSettings, Experiment
from regard.registry import Choice
from regard.reports.compare.data import Gold, Learnt, common_test, error_rate, gold_links, space_groups
from regard.reports.compare.plan import Contender
from regard.results import Explanation, Prediction
from regard.text import TOKENIZERS, train_tokenizer

TEXTS = ["the eu-budget , isn't it ?", "Zuerst bitte ich !", "a  b", "我 喜欢 书", "naïve ﬁ ½"]
PIECES = ["▁das", "▁", "Ha", "us", "▁-", "x", "</s>"]  # das | Haus | -x


@pytest.fixture
def files(tmp_path):
    for name, lines in {"a": "one\ntwo\n", "b": "eins\nzwei\n", "c": "un\ndeux\n", "d": "uno\n"}.items():
        (tmp_path / name).write_text(lines)
    return tmp_path


def contender(name, files, *, train="ab", dev="ab", test="ab", **more):
    parts = {"": train, "dev_": dev, "test_": test}
    sides = {f"{part}{side}": files / pair[place] for part, pair in parts.items() if pair
             for place, side in enumerate(("source", "target"))}  # fmt: skip
    return Contender(name, files / name, (), Experiment(data=DataSettings(**sides, **more)))


def told(*contenders):
    with pytest.raises(ConfigError) as error:
        common_test(contenders, Learnt(), any_data=False)
    return str(error.value).splitlines()


def test_the_same_texts_in_other_files_are_the_same(files):
    for name in "ab":
        (files / name.upper()).write_bytes((files / name).read_bytes())
    others = contender("other", files, train="AB", dev="AB", test="AB")
    assert common_test([contender("first", files), others], Learnt(), any_data=False)["target"] == ["eins", "zwei"]


def test_other_texts_are_told_with_their_files(files):
    lines = told(contender("first", files), contender("other", files, train="ac", dev="ac", test="ac"))
    assert [line.partition(":")[0] for line in lines] == ["data.test", "data.train", "data.dev"]
    assert f"'other' learns from {files / 'a'} and {files / 'c'}" in lines[1]
    assert "say the same for all: data.train.source=FILE data.train.target=FILE, or --any-data" in lines[1]
    assert "any-data" not in lines[0]


def test_sentences_left_out_are_other_texts_too(files):
    (line,) = told(contender("first", files), contender("other", files, max_length=7))
    assert "up to 7 pieces" in line
    assert "up to 256 pieces" in line
    held = [contender(name, files, dev="", dev_share=share) for name, share in (("first", 0.0), ("other", 0.5))]
    assert "without a share of 0.5" in told(*held)[0]


def test_other_training_texts_may_be_allowed_but_no_other_test(files):
    others = [contender("first", files), contender("other", files, train="ac", dev="")]
    assert common_test(others, Learnt(), any_data=True).sources == ["one", "two"]
    with pytest.raises(ConfigError, match=r"^data.test: 'third' is judged on "):
        common_test([*others, contender("third", files, test="ac")], Learnt(), any_data=True)


def test_there_must_be_a_test_part(files):
    assert told(contender("first", files, test=""))[0].startswith("data.test.source: must be given: 'first' names no")


@pytest.mark.parametrize("name", TOKENIZERS)
def test_words_between_spaces_are_found_again_in_pieces(name):
    tokenizer = train_tokenizer(Choice(name, {"size": 300}), ["the eu budget is a book", "bitte ich", "我 书"] * 5)
    for text in TEXTS:
        ids = tokenizer.encode(text)
        pieces = [*tokenizer.pieces(ids), "</s>"]
        groups = space_groups(pieces)
        words = [tokenizer.decode([ids[place] for place in group]).strip(" ") for group in groups]
        assert words == [word for word in text.split(" ") if word], pieces


def test_groups_by_hand():
    assert space_groups(PIECES) == [[0], [2, 3], [4, 5]]
    assert space_groups(["<0x20>", "a", "<0xE4>", " ", "b"]) == [[1, 2], [4]]
    assert space_groups(["</s>"]) == []


def explaining(*weights):
    """A predictor that finds these weights for PIECES as source and two target words of three pieces."""
    target = ["▁the", "▁hou", "se", "</s>"]
    found = [Explanation(PIECES, target, [], list(map(list, rows))) for rows in weights]
    given = []

    def explained(predictions):
        given.extend((one.source, one.text) for one in predictions)
        return [Prediction("", "", 0.0, explanation=one) for one in found]

    return SimpleNamespace(explained=explained, given=given)


def test_the_error_rate_by_hand():
    """the → das (0.9); house → Haus: 0.3 + 0.2 and 0.1 + 0.4 of its two pieces, 0.45 on average, against 0.3 of -x."""
    rows = ([0.9, 0, 0, 0, 0, 0.1, 0], [0.2, 0, 0.3, 0.2, 0.1, 0.2, 0], [0.1, 0, 0.1, 0.4, 0, 0.4, 0], [0] * 7)
    gold = GoldAlignment(frozenset({(0, 0), (2, 1)}), frozenset({(0, 0), (1, 1), (2, 1)}))
    predictor = explaining(rows)
    # A = {0-0, 1-1}, S = {0-0, 2-1}, P = S and 1-1: 1 - (1 + 2) / (2 + 2)
    assert error_rate(predictor, Gold(["das Haus -x"], ["the house"], [gold])) == pytest.approx(25.0)
    assert predictor.given == [("das Haus -x", "the house")]


def test_a_model_that_looks_at_nothing_has_no_error_rate():
    assert error_rate(explaining([]), Gold(["a"], ["b"], [GoldAlignment(frozenset(), frozenset())])) is None


def test_gold_files(tmp_path):
    (tmp_path / "s").write_text("a b c\nd\n")
    (tmp_path / "t").write_text("x y\nz\n")
    (tmp_path / "links").write_text("1-1 3p2\n1-1\n")
    (tmp_path / "turned").write_text("1-1 2p3\n1-1\n")
    gold = gold_links(tmp_path / "links", tmp_path / "s", tmp_path / "t", turned=False)
    assert gold.links[0] == ({(0, 0)}, {(0, 0), (2, 1)})
    assert gold_links(tmp_path / "turned", tmp_path / "s", tmp_path / "t", turned=True) == gold
    with pytest.raises(DataError, match=r"turned:1: link 2-3 \(source-target\), but there are 3 and 2 words"):
        gold_links(tmp_path / "turned", tmp_path / "s", tmp_path / "t", turned=False)
    (tmp_path / "t").write_text("x y\n")
    with pytest.raises(DataError, match=r"2 lines, but .* has 1"):
        gold_links(tmp_path / "links", tmp_path / "s", tmp_path / "t", turned=False)
