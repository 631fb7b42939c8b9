"""Features that read tables: values by hand, against slow loops, and as parts of a log-linear sum."""

import itertools
import math
import random

import pytest
import torch
from language import model_of
from torch.testing import assert_close

from regard.data.columns import TextColumn
from regard.decoding import FEATURES, BeamSearch, GreedySearch, SearchEngine
from regard.decoding.features.feature import Surroundings
from regard.decoding.features.language_model import LanguageModelFeature
from regard.decoding.features.lexicon import LexiconFeature
from regard.decoding.features.missing_words import MissingWordsFeature
from regard.decoding.features.ngram_model import NgramModelFeature
from regard.decoding.features.phrases import PhrasesFeature
from regard.decoding.features.repetition import RepetitionFeature
from regard.decoding.features.tables import spelled_pieces
from regard.errors import ConfigError, DataError
from regard.records import BOS, EOS, Batch, Sequences, Step
from regard.registry import Choice
from regard.statistical.arpa import write_arpa
from regard.statistical.kneser_ney import kneser_ney
from regard.text import TOKENIZERS

READ, WRITTEN = "a dog runs the cat", "ein Hund läuft die Katze"
LEXICON = "a\tein\t0.75\ndog\tHund\t0.5\ndog\tdie Katze\t0.125\nthe\tdie\t1\n"
PHRASES = (
    "a dog ||| ein Hund ||| 0.1 0.1 0.25 0.1 ||| 0-0 1-1\n"
    "dog ||| Hund ||| 0.1 0.1 0.09 0.1 ||| 0-0\n"
    "the ||| die ||| 0.1 0.1 0.5 0.1 ||| 0-0\n"
)


@pytest.fixture(scope="module")
def columns():
    source, target = (TextColumn(TOKENIZERS.build(Choice("words")).train([text])) for text in (READ, WRITTEN))
    return {"source": source, "target": target}


@pytest.fixture(scope="module")
def run(columns, tmp_path_factory, writers):
    place = tmp_path_factory.mktemp("tables")
    (place / "lexicon.tsv").write_text(LEXICON, "utf-8")
    (place / "phrases.txt").write_text(PHRASES, "utf-8")
    pieces, draw = spelled_pieces(columns["target"])[4:], random.Random(5)
    texts = [[draw.choice(pieces[-5:]) for _ in range(draw.randrange(6))] for _ in range(40)]
    write_arpa(kneser_ney(texts, 3), place / "language.arpa")

    def open_run(path):
        raise AssertionError(path)

    return Surroundings(columns, None, place, open_run)


def ids_of(column, text):
    return column.encode(text)


def stepped(feature, columns, writers, source, written, weights=None):
    """What is added to each word behind each of the words written, and the state behind all."""
    batch = writers.batch_of([[*ids_of(columns["source"], source), EOS]])
    state, told = feature.start(batch), []
    for word in [BOS, *ids_of(columns["target"], written)]:
        looks = None if weights is None else torch.tensor([weights])
        step = Step(torch.zeros(1, len(columns["target"])), looks)
        added, state = feature.step(step, torch.tensor([[word]]), state)
        told.append(added.expand(1, len(columns["target"]))[0])
    return told, state


def test_lexicon_by_hand(run, columns, writers):
    """'Hund' has 0.5 of 'dog'; where the model looks decides how much of it counts."""
    feature = LexiconFeature(weight=2.0, file=run.learnt / "lexicon.tsv", min_probability=0.01).bind(run)
    (first,), _ = stepped(feature, columns, writers, "a dog", "", weights=[0.2, 0.3, 0.5])
    (ein,), (hund,), (die,) = (ids_of(columns["target"], word) for word in ("ein", "Hund", "die"))
    assert first[ein].item() == pytest.approx(2 * math.log(0.4 * 0.75))  # shares are those of words, not of the end
    assert first[hund].item() == pytest.approx(2 * math.log(0.6 * 0.5))
    assert first[die].item() == pytest.approx(2 * math.log(0.6 * 0.125))  # a piece of a translation of two
    assert first[ids_of(columns["target"], "läuft")[0]].item() == pytest.approx(2 * math.log(0.01))
    assert first[EOS] == 0
    everywhere = LexiconFeature(weight=1.0, file=run.learnt / "lexicon.tsv", look="everywhere").bind(run)
    (first,), _ = stepped(everywhere, columns, writers, "a dog", "")
    assert first[hund].item() == pytest.approx(math.log(0.5 * 0.5))


def test_missing_words_by_hand(run, columns, writers):
    feature = MissingWordsFeature(weight=0.5, file=run.learnt / "lexicon.tsv", min_probability=0.2).bind(run)
    for written, missing in (("", 2), ("ein", 1), ("Hund Hund", 1), ("Hund ein", 0), ("die Katze", 2)):
        told, state = stepped(feature, columns, writers, "a dog runs", written)  # nothing is known of 'runs'
        assert not any(one.any() for one in told)
        assert feature.finish(state).tolist() == [-0.5 * missing]


def test_phrases_by_hand(run, columns, writers):
    """'ein Hund' counts more behind 'ein' than 'Hund' does; what no phrase of the source ends with counts least."""
    feature = PhrasesFeature(weight=1.0, file=run.learnt / "phrases.txt", min_probability=0.01).bind(run)
    told, _ = stepped(feature, columns, writers, "a dog", "läuft ein")
    hund, die = (ids_of(columns["target"], word)[0] for word in ("Hund", "die"))
    wanted = [math.log(0.09), math.log(0.09), math.log(0.25) / 2]
    assert [one[hund].item() for one in told] == pytest.approx(wanted)
    assert all(one[die].item() == pytest.approx(math.log(0.01)) for one in told)  # 'the' is not in the source
    assert all(one[EOS] == 0 for one in told)


def test_repetition_by_hand(writers):
    feature = RepetitionFeature(weight=0.5, size=2)
    state, told = feature.start(writers.batch_of([[EOS]])), []
    for word in (BOS, 4, 5, 4):
        added, state = feature.step(Step(torch.zeros(1, 7)), torch.tensor([[word]]), state)
        told.append(added[0].tolist())
    assert [sum(one) for one in told] == [0, 0, 0, -0.5]
    assert told[-1][5] == -0.5  # 4 5 once more


def test_ngram_scores_are_those_of_the_model(run, columns, writers):
    """Against the model itself, word by word, also for texts that it has not seen."""
    feature = NgramModelFeature(weight=1.0, file=run.learnt / "language.arpa", min_probability=1e-30).bind(run)
    model, pieces = feature._ngrams.model, spelled_pieces(columns["target"])
    for text in map(list, itertools.product([4, *range(len(pieces) - 5, len(pieces))], repeat=3)):
        batch, found = writers.batch_of([[EOS]]), 0.0
        state = feature.start(batch)
        for before, word in itertools.pairwise([BOS, *text, EOS]):
            added, state = feature.step(Step(torch.zeros(1, len(pieces))), torch.tensor([[before]]), state)
            found += added[0, word].item()
        assert found == pytest.approx(sum(model.log_probs_of([pieces[one] for one in text])), rel=1e-5)


def test_ngram_probabilities_sum_to_one(run, columns, writers):
    """Over all pieces that the model knows and the end, in every context."""
    feature = NgramModelFeature(weight=1.0, file=run.learnt / "language.arpa", min_probability=1e-30).bind(run)
    ngrams = feature._ngrams
    states = torch.arange(len(ngrams.model.backoffs)).numpy()
    known = [place for place, word in enumerate(ngrams.words) if word != ngrams.model.unknown and place > BOS]
    sums = [sum(math.exp(row[place]) for place in known) for row in ngrams.log_probs(states)]
    unknown = [math.exp(ngrams.model.step(int(state), ngrams.model.unknown)[0]) for state in states]
    assert [one + other for one, other in zip(sums, unknown, strict=True)] == pytest.approx([1.0] * len(states))


def test_arpa_file_of_words_serves_pieces_that_are_words(run, columns, writers, tmp_path):
    write_arpa(kneser_ney([WRITTEN.split(), ["ein", "Hund"]], 2), tmp_path / "words.arpa")
    feature = NgramModelFeature(weight=1.0, file=tmp_path / "words.arpa").bind(run)
    told, _ = stepped(feature, columns, writers, "a", "ein")
    words = {word: ids_of(columns["target"], word)[0] for word in ("Hund", "Katze")}
    assert told[1][words["Hund"]] > told[1][words["Katze"]]


def test_arpa_file_of_other_pieces_is_refused(run, tmp_path):
    write_arpa(kneser_ney([list("abcdefg")], 2), tmp_path / "letters.arpa")
    with pytest.raises(DataError, match="of its words are pieces"):
        NgramModelFeature(file=tmp_path / "letters.arpa").bind(run)


@torch.no_grad()
def test_neural_language_model_scores_as_it_would_alone(columns, writers, tmp_path):
    """Summed over a text: weight times its log-likelihood by the other run, the end included."""
    model, size = model_of("transformer", len(columns["target"])), len(columns["target"])
    run = Surroundings(columns, None, tmp_path, lambda path: (model, {"text": columns["target"]}))
    feature, ids = LanguageModelFeature(run=tmp_path, weight=0.3).bind(run), [*ids_of(columns["target"], WRITTEN), EOS]
    state, found = feature.start(writers.batch_of([[EOS]])), 0.0
    for before, word in itertools.pairwise([BOS, *ids]):
        added, state = feature.step(Step(torch.zeros(1, size).double()), torch.tensor([[before]]), state)
        found += added[0, word].item()
    text = Sequences(torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.bool))
    wanted = -model.nll(Batch({"text": text}, "write", torch.zeros(1).long(), len(ids))).sum().item()
    assert found == pytest.approx(0.3 * wanted)


def test_language_model_of_another_vocabulary_is_refused(columns, tmp_path):
    run = Surroundings(columns, None, tmp_path, lambda path: (model_of("transformer", 9), {"text": columns["source"]}))
    with pytest.raises(ConfigError, match="another vocabulary than the target"):
        LanguageModelFeature(run=tmp_path).bind(run)


class Stub(torch.nn.Module):
    """No language model."""


def test_run_that_is_no_language_model_is_refused(columns, tmp_path):
    run = Surroundings(columns, None, tmp_path, lambda path: (Stub(), columns))
    with pytest.raises(ConfigError, match="is not a language model"):
        LanguageModelFeature(run=tmp_path).bind(run)
    with pytest.raises(ConfigError, match="is not given"):
        LanguageModelFeature().bind(run)


@pytest.fixture
def bound(run, columns, writers):
    """Every feature that reads tables of files."""
    files = {"ngram_model": "language.arpa", "lexicon": "lexicon.tsv", "missing_words": "lexicon.tsv",
             "phrases": "phrases.txt"}  # fmt: skip
    return [FEATURES.build(Choice(name, {"file": run.learnt / file})).bind(run) for name, file in files.items()]


@torch.no_grad()
def test_weights_of_zero_are_the_plain_beam(bound, writers, columns):
    """Bit by bit: ids, scores and log-probabilities."""
    tree = writers.drawn(len(columns["target"]), 7, 2.0)
    batch = writers.batch_of([[*ids_of(columns["source"], text), EOS] for text in (READ, "a dog", "the cat runs")])
    features = [
        *bound,
        RepetitionFeature(weight=0.0),
        FEATURES.build(Choice("length")),
        FEATURES.build(Choice("coverage")),
    ]
    search, short = BeamSearch(size=3, n_best=3, stop="full", max_extra=3), {"max_extra": 3}
    for one in (search, GreedySearch(**short)):
        plain = one.run(tree, batch)
        assert one.run(tree, batch, features=[feature.weighted(0.0) for feature in features]) == plain
        assert one.run(tree, batch, features=[feature.weighted(0.5) for feature in features]) != plain


@torch.no_grad()
def test_shares_sum_to_the_score(bound, writers, columns):
    """Through a narrow beam whose rows change places; the model's share is the mean of its log-probabilities."""
    tree = writers.drawn(len(columns["target"]), 8, 2.0)
    batch = writers.batch_of([[*ids_of(columns["source"], text), EOS] for text in (READ, "a dog", "the cat runs")])
    features = [
        *bound,
        RepetitionFeature(),
        RepetitionFeature(size=1),
        FEATURES.build(Choice("coverage", {"weight": 0.1})),
    ]
    engine = SearchEngine(tree, BeamSearch(size=3, n_best=3, max_extra=3), features)
    for ranked in engine.answer(batch):
        for one in ranked:
            assert [*one.shares] == ["model", "ngram_model", "lexicon", "missing_words", "phrases", "repetition",
                                     "repetition 2", "coverage"]  # fmt: skip
            assert one.shares["model"] == pytest.approx(sum(one.log_probs) / len(one.log_probs), abs=1e-5)
            assert sum(one.shares.values()) == pytest.approx(one.score)


@torch.no_grad()
def test_batch_mates_do_not_matter(bound, writers, columns):
    tree = writers.drawn(len(columns["target"]), 9, 2.0)
    sources = [[*ids_of(columns["source"], text), EOS] for text in (READ, "a dog", "the cat runs", "")]
    search = BeamSearch(size=3, n_best=2, max_extra=3)
    together = search.run(tree, writers.batch_of(sources), features=bound)
    for source, found in zip(sources, together, strict=True):
        [alone] = search.run(tree, writers.batch_of([source]), features=bound)
        assert [one.ids for one in alone] == [one.ids for one in found]
        assert [one.score for one in alone] == pytest.approx([one.score for one in found], abs=1e-6)


def test_missing_table_says_how_to_learn_it(run):
    with pytest.raises(DataError, match="regard tune RUN"):
        LexiconFeature().bind(run)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("ngram_model", "\\data\\\nngram 1=3\n\n\\1-grams:\n-1\t</s>\n", "cut off"),
        ("lexicon", "a\tein\t0.5\ndog\tHu", "truncated"),
        ("phrases", PHRASES[:60], "the line is cut off"),
        ("lexicon", "▁Haus\t▁house\t1\n", "none of its words"),
        ("phrases", "", "is empty"),
    ],
)
def test_table_that_is_cut_off_is_named(run, tmp_path, name, text, told):
    (tmp_path / "cut").write_text(text, "utf-8")
    with pytest.raises(DataError, match=told) as caught:
        FEATURES.build(Choice(name, {"file": tmp_path / "cut"})).bind(run)
    assert str(tmp_path / "cut") in str(caught.value)


def test_another_weight_is_another_feature():
    feature = FEATURES.build(Choice("length", {"weight": 0.5}))
    assert_close(torch.tensor([feature.weighted(-1.0).weight, feature.weight]), torch.tensor([-1.0, 0.5]))
    assert (feature.rewards, feature.weighted(-1.0).rewards) == (True, False)


def test_every_row_has_its_own_name():
    assert [FEATURES[name].name for name in FEATURES] == [*FEATURES]
