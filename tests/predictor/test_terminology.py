"""Terms and prefixes in predictions: kept, reported, and paid for by what a model finds likely."""

from dataclasses import replace

import pytest
from networks import build_translator
from tasks import engine_of, translation_of

from regard.decoding import SEARCHES, BeamSearch
from regard.documents.glossary import Glossary
from regard.documents.text_spans import word_spans
from regard.errors import ConfigError, DataError
from regard.experiment import DecodingSettings
from regard.models import AttentionSettings
from regard.predictor import Predictor
from regard.predictor.terminology import MOST_PIECES, RequiredTerms, TermPhrases, with_terms
from regard.registry import Choice
from regard.results import TextPrediction
from regard.text import train_tokenizer

TEXTS = ["a dog runs", "two cats", "", "he reads a book about dogs", "yes, a dog"]
GERMAN = ["ein Hund läuft", "zwei Katzen", "er liest ein Buch über Hunde", "ja, ein Hund"]
GLOSSARY = Glossary.of_lines(["dog\tHund|Köter", "cats\tKatzen", "reads\tliest", "book\tein Buch"])


def predictor_of(tokenizer, search, cost=1.0):
    """Of random weights: what it says is nonsense, but it is the same nonsense each time."""
    blocks = Choice("transformer", {"num_layers": 1, "feedforward_dim": 8})
    heads = AttentionSettings(num_heads=2)
    settings = dict(dim=8, encoder=blocks, decoder=blocks, attention=heads, self_attention=heads)
    model, task = build_translator(settings, len(tokenizer), len(tokenizer)), translation_of(tokenizer)
    built = SEARCHES.build(search)
    limits = DecodingSettings(max_source=60, term_cost=cost)
    return Predictor(model, task, engine_of(model, task, search), search=built, settings=limits)


@pytest.fixture(params=["characters", "words", "subwords"])
def tokenizer(request):
    settings = {} if request.param == "characters" else {"size": 300}
    return train_tokenizer(Choice(request.param, settings), [*TEXTS, *GERMAN, "Köter"] * 3)


def places(prediction):
    text = prediction.text
    return [one.target_place and text[slice(*one.target_place)] for one in prediction.terms.uses]


@pytest.mark.parametrize(
    "search", [Choice("beam", {"size": 3, "n_best": 2}), Choice("greedy")], ids=lambda one: one.name
)
def test_every_term_is_in_the_translation_and_reported(tokenizer, search):
    predictor = predictor_of(tokenizer, search)
    free = predictor.predict(TEXTS, safeguards=False)
    found = predictor.predict(TEXTS, glossary=GLOSSARY, safeguards=False)
    assert [one.terms and [use.source for use in one.terms.uses] for one in found] == [
        ["dog"], ["cats"], None, ["reads", "book"], ["dog"],
    ]  # fmt: skip
    assert found[2] == free[2]
    for one, other in zip(found, free, strict=True):
        if one.terms is not None:
            assert all(text in use.targets for text, use in zip(places(one), one.terms.uses, strict=True))
            assert one.terms.without == (other.text if other.text != one.text else "")
            lost = sum(other.log_probs) - sum(one.log_probs)
            assert one.terms.cost == pytest.approx(max(lost, 0) / len(word_spans(one.text)))
            badly = f"terms fit badly: they cost {one.terms.cost:.1f} nats a word (decoding.term_cost=1)"
            assert (badly in one.warning) == (one.terms.cost > 1.0)


def test_what_it_answers_is_what_forced_decoding_finds(tokenizer):
    predictor = predictor_of(tokenizer, Choice("beam", {"size": 3}))
    found = [one for one in predictor.predict(TEXTS, glossary=GLOSSARY, safeguards=False) if one.terms]
    scored = predictor.score([one.source for one in found], [one.text for one in found])
    for one, other in zip(found, scored, strict=True):
        if predictor.task.target.encode(one.text) == one.ids:
            assert one.log_probs == pytest.approx(other.log_probs, abs=1e-4)


def test_a_term_that_is_there_anyway_changes_nothing(tokenizer):
    predictor = predictor_of(tokenizer, Choice("beam", {"size": 3}))
    [free] = predictor.predict(["yes"])
    word = free.text[slice(*word_spans(free.text)[0])]
    [found] = predictor.predict(["yes"], glossary=Glossary.of_lines([f"yes\t{word}|other"]))
    assert (found.text, found.score, found.terms.cost, found.terms.without) == (free.text, free.score, 0.0, "")


def test_an_answer_begins_with_its_prefix_whatever_its_batch_mates(tokenizer):
    predictor = predictor_of(tokenizer, Choice("beam", {"size": 3}))
    prefixes = ["ein Hu", "", "", "er liest", "zwei"]
    found = predictor.predict(TEXTS, prefixes=prefixes)
    assert all(one.text.startswith(prefix) for one, prefix in zip(found, prefixes, strict=True))
    assert all(one.terms is None for one in found)
    assert found[1].text == predictor.predict(["two cats"], prefixes=[""])[0].text
    both = predictor.predict(TEXTS, prefixes=prefixes, glossary=GLOSSARY, safeguards=False)
    assert all(one.text.startswith(prefix) for one, prefix in zip(both, prefixes, strict=True))
    assert places(both[1]) == ["Katzen"]


def test_texts_of_several_sentences_have_their_terms_in_each(tokenizer):
    predictor = predictor_of(tokenizer, Choice("beam", {"size": 3}))
    [found] = predictor.translate(["A dog runs. Two cats."], glossary=GLOSSARY, prefixes=["ein"])
    assert found.text.startswith("ein")
    assert [[use.source for use in part.terms.uses] for part in found.parts] == [["dog"], ["cats"]]
    for part in found.parts:
        missing = [use for use in part.terms.uses if not use.used]
        assert all(f"'{use.source}' is not translated" in part.warning for use in missing)


@pytest.mark.parametrize(
    ("source", "ranked", "best"),
    [
        ("a dog runs", ["ein Tier läuft. Hund.", "ein Hund läuft."], "ein Hund läuft."),
        ("a dog runs", ["ein Tier läuft. Hund.", "ein Tier läuft. ein Hund."], "ein Tier läuft. Hund."),
        ("it runs. a dog.", ["ein Tier läuft. Hund.", "ein Hund läuft."], "ein Tier läuft. Hund."),
    ],
    ids=["another", "no other", "two sentences"],
)
def test_a_term_stands_behind_a_whole_sentence_only_at_need(tokenizer, source, ranked, best):
    def answered(texts, score):
        first, *rest = [TextPrediction(source, text, score - place, [], True) for place, text in enumerate(texts)]
        return replace(first, alternatives=rest)

    def predicted(rows, search):
        return [answered(["ein Tier läuft."] if search is None else ranked, -1.0) for _ in rows]

    phrases, wanted = TermPhrases(translation_of(tokenizer).target), RequiredTerms.of(GLOSSARY, None, 1)
    [found] = with_terms(predicted, BeamSearch(n_best=2), phrases, wanted, 1.0)
    assert found.text == best
    assert [(one.text, one.alternatives) for one in found.alternatives] == [
        (text, []) for text in ranked if text != best
    ]


def test_each_text_may_have_a_glossary_of_its_own(tokenizer):
    predictor = predictor_of(tokenizer, Choice("beam", {"size": 3}))
    one, other = (Glossary.of_lines([f"dog\t{word}"]) for word in ("Hund", "Katzen"))
    found = predictor.predict(["a dog", "a dog"], glossary=[one, other], safeguards=False)
    assert [places(each) for each in found] == [["Hund"], ["Katzen"]]
    with pytest.raises(DataError, match="1 for 2 texts"):
        predictor.predict(["a dog", "a dog"], glossary=[one])


def test_bad_input_is_one_line(tokenizer):
    predictor = predictor_of(tokenizer, Choice("beam", {"size": 3}))
    long = Glossary.of_lines([f"dog\t{'Hund ' * (MOST_PIECES + 1)}"])
    with pytest.raises(DataError, match=f"more than a beam can place \\({MOST_PIECES}\\)"):
        predictor.translate(["a cat"], glossary=long)
    with pytest.raises(DataError, match="one is needed for each text, of 2"):
        predictor.translate(["a dog", "a cat"], prefixes=["ein"])
    with pytest.raises(ConfigError, match="cannot keep terms and prefixes"):
        predictor_of(tokenizer, Choice("sampling")).predict(["a dog"], glossary=GLOSSARY)


def test_pieces_of_a_term_are_those_that_it_has_in_a_text(tokenizer):
    column = translation_of(tokenizer).target
    phrases = TermPhrases(column)
    for text in ("Hund", "ein Hund", "das ist ein Hund", "Hund, Katzen"):
        told = (1, *column.encode(text), 2)
        [term] = phrases.requirement(Glossary.of_lines(["dog\tHund"]).found("dog"), "").terms
        assert any(
            told[end - len(phrase.ids) : end] == phrase.ids and phrases.parts_words[told[end]]
            for phrase in term
            for end in range(len(told))
        )
