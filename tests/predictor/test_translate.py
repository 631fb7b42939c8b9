"""Texts of any length, through an engine that answers each sentence in capitals: what is kept, copied, cut and told."""

from pathlib import Path

import pytest
from networks import build_translator
from tasks import translation_of

from regard.data.columns import TextColumn
from regard.decoding import Hypothesis
from regard.documents.files import FileError
from regard.documents.unknown_words import COPIED, unknown_script
from regard.errors import ConfigError, DataError
from regard.models import AttentionSettings
from regard.predictor import Predictor, answers_and_losses
from regard.predictor.line_answers import document_path
from regard.registry import Choice
from regard.results import DocumentPrediction
from regard.text import train_tokenizer

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ .,:;!?'-0123456789/ü"


class Capitals:
    """Answers in capitals, and then in capitals backwards; `told` are the texts it was asked."""

    width = 1
    max_source = 1000

    def __init__(self, column, times=1):
        self.column, self.times, self.told = column, times, []

    def answer(self, batch):
        rows = [ids[mask].tolist()[:-1] for ids, mask in zip(*batch.sequences("source"), strict=True)]
        texts = [self.column.decode(ids) for ids in rows]
        self.told += texts
        ids = [self.column.encode(text.upper()) * self.times for text in texts]
        return [[Hypothesis(one, -1.0, [-0.5] * len(one), True), Hypothesis(one[::-1], -2.0, [], True)] for one in ids]


def predictor_of(times=1, languages=("en", "de"), tokenizer=None):
    tokenizer = tokenizer or train_tokenizer(Choice("characters"), [LETTERS])
    blocks = Choice("transformer", {"num_layers": 1, "feedforward_dim": 8})
    heads = AttentionSettings(num_heads=2)
    settings = dict(dim=8, encoder=blocks, decoder=blocks, attention=heads, self_attention=heads)
    model, task = build_translator(settings, len(tokenizer), len(tokenizer)), translation_of(tokenizer)
    return Predictor(model, task, Capitals(task.source, times), languages=languages)


@pytest.fixture
def predictor():
    return predictor_of()


def test_sentences_are_answered_one_by_one(predictor):
    (found,) = predictor.translate(["The old man reads. The dog sees a cat!  Yes?"])
    assert found.text == "THE OLD MAN READS. THE DOG SEES A CAT!  YES?"
    assert sorted(predictor.setup.engine.told) == ["The dog sees a cat!", "The old man reads.", "Yes?"]
    assert isinstance(found, DocumentPrediction)
    assert [one.source for one in found.parts] == ["The old man reads.", "The dog sees a cat!", "Yes?"]
    assert (found.score, len(found.details()["sentences"])) == (-3.0, 3)


def test_a_page_keeps_its_markup_and_code(predictor):
    page = b'<html lang="en"><p class="a">The old man reads.</p><pre>x = y</pre><p>See <b>http://a.org</b></p>'
    written, found = predictor.translate_file(page, ".html")
    assert written.startswith(b'<html lang="de"><p class="a">THE OLD MAN READS.</p><pre>x = y</pre><p>')
    assert b"http://a.org" in written
    assert found[0].text == "THE OLD MAN READS."
    assert all(one.explanation is None or not one.explanation.maps for one in found)


def test_a_file_of_another_kind_is_refused(predictor):
    with pytest.raises(FileError, match=r"\.pdf"):
        predictor.translate_file(b"%PDF", ".pdf")


def test_json_lines_are_not_read_as_texts():
    with pytest.raises(ConfigError, match=r"--shards 1 'my b\.jsonl\.gz'"):
        document_path(Path("my b.jsonl.gz"), None, details=False, terminal=False)


@pytest.mark.parametrize("text", ["12345", "https://example.com/a?b=c", "😀", "", "  "])
def test_what_has_no_words_is_kept_without_asking(predictor, text):
    assert [one.text for one in predictor.translate([text])] == [text]
    assert predictor.setup.engine.told == []


def test_addresses_and_signs_in_a_sentence_are_kept(predictor):
    (found,) = predictor.translate(["😀 see https://example.com/a?b=c now"])
    assert "https://example.com/a?b=c" in found.text and found.text.startswith("😀 SEE")


def test_a_long_text_loses_nothing(predictor):
    text = " ".join(f"this is sentence number {number} of a long text." for number in range(80))
    assert predictor.translate([text])[0].text == text.upper()
    endless = "word " * 500
    assert predictor_of().translate([endless.strip()])[0].text == endless.strip().upper()


def test_every_text_has_its_answer_in_its_place(predictor):
    texts = ["one. two.", "", "7", "three", "four. five. six."]
    assert [one.text for one in predictor.translate(texts)] == [text.upper() for text in texts]
    assert [one.source for one in predictor.translate(texts)] == texts


def test_alternatives_are_put_together_too(predictor):
    (found,) = predictor.translate(["ab. cd."])
    assert [one.text for one in found.alternatives] == [".BA .DC"]


def test_a_text_too_long_is_told_by_its_number(predictor):
    predictor.setup.engine.max_source = predictor.encoder.max_source = 20
    with pytest.raises(DataError) as caught:
        predictor.translate(["a. b. c.", "d", "e. " + "f" * 30])
    assert caught.value.line == 3


def test_no_space_between_chinese_sentences():
    tokenizer = train_tokenizer(Choice("characters"), [LETTERS + "。好"])
    predictor = predictor_of(languages=("en", "zh"), tokenizer=tokenizer)
    predictor.setup.engine.answer = lambda batch: [
        [Hypothesis(tokenizer.encode("好。"), -1.0, [], True)] for _ in batch.lines.tolist()
    ]
    assert predictor.translate(["One. Two."])[0].text == "好。好。"


def test_an_unknown_script_is_copied_and_told(predictor):
    (found, known) = predictor.predict(["你好世界", "ünder"])
    assert (found.text, found.warning == COPIED) == ("你好世界", True)
    assert (known.text, known.warning) == ("ÜNDER".replace("Ü", known.text[0]), "")
    assert predictor.predict(["你好世界"], safeguards=False)[0].warning == ""


def test_an_unknown_script_is_not_too_long(predictor):
    predictor.encoder.max_source = 20
    assert predictor.predict(["好" * 30])[0].text == "好" * 30


def test_a_long_number_is_no_loop():
    assert predictor_of(1).predict(["x"])[0].warning == ""
    assert predictor_of(9).predict(["0"])[0].text == "0" * 9


def test_capitals_are_no_script():
    column = TextColumn(train_tokenizer(Choice("characters"), ["abcdef two men"]))
    assert not unknown_script("TWO MEN", column.alphabet)


@pytest.mark.parametrize(("times", "text"), [(3, "kinder "), (4, "kinder "), (30, "ab ")])
def test_a_loop_is_cut_and_told(times, text):
    (found,) = predictor_of(times).predict([text.strip()])
    whole = text.strip().upper() * times
    loops = times >= 4
    assert found.text == (text.strip().upper() if loops else whole)
    assert (found.finished, bool(found.warning)) == (not loops, loops)
    assert len(found.log_probs) == len(found.ids)


def test_the_score_of_a_loop_is_that_of_what_is_left():
    """Where it is a sum: over all rounds it moved with the batch. A mean stays what the search found."""
    predictor = predictor_of(30)
    answer, mean = predictor.setup.engine.answer, predictor.predict(["kinder"])[0].score
    predictor.setup.engine.answer = lambda batch: [
        [one._replace(score=sum(one.log_probs)) for one in ranked] for ranked in answer(batch)
    ]
    (found,) = predictor.predict(["kinder"])
    assert (found.score, found.log_probs) == (-3.0, [-0.5] * 6)
    assert mean == -1.0


def test_a_repeated_source_is_no_loop(predictor):
    text = "ha " * 12
    assert predictor.predict([text.strip()])[0].text == text.strip().upper()


def test_figures_are_taken_without_safeguards():
    predictor = predictor_of(9)
    outcome = answers_and_losses(predictor, {"source": ["kinder"], "target": ["x"]})
    assert outcome.answers[0].text == "KINDER" * 9


@pytest.mark.parametrize("name", ["words", "characters", "subwords"])
def test_unknown_words_of_a_known_script_are_no_unknown_script(name):
    settings = {"size": 300} if name == "subwords" else {}
    column = TextColumn(train_tokenizer(Choice(name, settings), ["the old man reads", "quick foxes jump"] * 3))
    assert not unknown_script("rested Oddname", column.alphabet)
    assert unknown_script("你好世界", column.alphabet) and unknown_script("привет", column.alphabet)
    assert not unknown_script("12 😀", column.alphabet)
