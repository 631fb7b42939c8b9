"""Metrics against sacrebleu's own corpus functions, against counts by hand, and on every degenerate text."""

import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu import corpus_bleu, corpus_chrf, corpus_ter

from regard.errors import ConfigError, RegardError
from regard.evaluation import METRICS
from regard.evaluation.bleu import Bleu
from regard.evaluation.chrf import Chrf
from regard.evaluation.exact_match import ExactMatch
from regard.evaluation.log_loss import ProbabilityMetric
from regard.evaluation.rates import LengthRatio, RepetitionRate, UntranslatedRate, loops_inside, repetitions
from regard.evaluation.ter import Ter
from regard.evaluation.tokenization import bleu_tokenizer, words
from regard.registry import Choice
from regard.reports.behaviour.evidence import looped
from regard.results import TextPrediction
from regard.tasks.text_predictions import STUTTERS, with_loops_named

SUBJECTS = ["The cat", "A small dog", "My sister's friend", "Nobody", "The old man (who slept)"]
ENDINGS = [
    "sat on the mat.",
    "ran 3.5 miles, then slept!",
    "reads a book.",
    "has seen it; twice.",
    "would not go home?",
]
REFERENCES = [f"{subject} {ending}" for subject in SUBJECTS for ending in ENDINGS] * 2  # 50 lines
HYPOTHESES = [text.replace("the", "a").replace("small ", "") for text in REFERENCES[1:]] + [""]
OF_TEXTS = sorted(name for name in METRICS if not issubclass(METRICS[name], ProbabilityMetric))  # nothing else given
RANKINGS = {"map", "mrr"}  # of pairs whose label says which belong together: without such there is nothing to rank
CHINESE = ["我喜欢读书。", "猫坐在垫子上。"]


def references_of(metric):
    of_kinds = {"numbers": ["1 0; 0.5 2"] * 3, "number": ["1", "-2.5", "3e2"], "labels": ["a, b"] * 3}
    return of_kinds.get(metric.answer_kind, REFERENCES)


@pytest.fixture(params=OF_TEXTS)
def metric(request):
    return METRICS.build(Choice(request.param))


def test_bleu_equals_sacrebleu():
    ours = Bleu().score(HYPOTHESES, REFERENCES)
    assert ours.value == corpus_bleu(HYPOTHESES, [REFERENCES]).score
    assert 0 < ours.value < 100
    assert ours.signature.startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")


@pytest.mark.parametrize("tokenize", ["13a", "intl", "zh", "char", "none"])
@pytest.mark.parametrize("lowercase", [False, True])
def test_bleu_settings_equal_those_of_sacrebleu(tokenize, lowercase):
    ours = Bleu(tokenize=tokenize, lowercase=lowercase).score(HYPOTHESES, REFERENCES)
    theirs = corpus_bleu(HYPOTHESES, [REFERENCES], tokenize=tokenize, lowercase=lowercase, force=True)
    assert ours.value == theirs.score
    assert f"tok:{tokenize}|" in ours.signature
    assert f"case:{'lc' if lowercase else 'mixed'}|" in ours.signature


def test_chrf_and_ter_equal_sacrebleu():
    assert Chrf().score(HYPOTHESES, REFERENCES).value == corpus_chrf(HYPOTHESES, [REFERENCES]).score
    plus = Chrf(word_order=2).score(HYPOTHESES, REFERENCES)
    assert plus.value == corpus_chrf(HYPOTHESES, [REFERENCES], word_order=2).score
    assert "nw:2" in plus.signature
    assert Ter().score(HYPOTHESES, REFERENCES).value == corpus_ter(HYPOTHESES, [REFERENCES]).score
    assert Ter(lowercase=False).score(HYPOTHESES, REFERENCES).value > 0


def test_several_references_and_as_many_as_a_sentence_has():
    second = [text.upper() for text in REFERENCES]
    both = Bleu().score(HYPOTHESES, list(zip(REFERENCES, second, strict=True)))
    assert both.value == corpus_bleu(HYPOTHESES, [REFERENCES, second]).score
    assert both.signature.startswith("nrefs:2|")
    some = [second[0], *[None] * (len(REFERENCES) - 1)]
    uneven = Bleu().score(HYPOTHESES, [[REFERENCES[0], second[0]], *([text] for text in REFERENCES[1:])])
    assert uneven.value == corpus_bleu(HYPOTHESES, [REFERENCES, some]).score
    assert uneven.signature.startswith("nrefs:var|")


def test_the_tokenizer_follows_the_script_of_the_references():
    assert "tok:zh|" in Bleu().score(CHINESE, CHINESE).signature
    assert "asian:yes" in Ter().score(CHINESE, CHINESE).signature
    assert bleu_tokenizer(["Ein Satz mit 漢字.", "Noch einer"]) == "13a"
    assert bleu_tokenizer(["私は本を読むのが好きです。"]) == "char"
    assert bleu_tokenizer(["ฉันชอบอ่านหนังสือ"]) == "char"
    assert bleu_tokenizer([]) == "13a"


def test_one_wrong_character_costs_ter_a_character_not_the_sentence():
    assert Ter().score(["我喜欢看书。"], ["我喜欢读书。"]).value == pytest.approx(100 / 6)


@pytest.mark.parametrize("name", sorted(set(OF_TEXTS) - RANKINGS))
def test_a_perfect_corpus(name):
    metric = METRICS.build(Choice(name))
    right = references_of(metric)
    score = metric.score(right, right, ["Quelle"] * len(right))
    best = {None: 1.0, True: 100.0, False: 0.0}[score.higher_is_better]
    assert score.value == pytest.approx(best, abs=1e-9)
    assert f"{score}" == f"{score.name} = {best:.2f} ({score.signature})"


def test_empty_hypotheses_are_no_crash(metric):
    right = references_of(metric)
    if metric.answer_kind == "number":
        with pytest.raises(RegardError, match="is not a number"):
            metric.score([""] * len(right), right)
        return
    value = metric.score([""] * len(right), right, ["a"] * len(right)).value
    if metric.name == "wrong bits":
        assert value == 4  # as many as there are
        return
    assert value == (0.0 if metric.higher_is_better is not False or "rate" in metric.name else 100.0)


@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20)), min_size=1, max_size=4))
def test_any_text_gets_a_finite_figure(rows):
    hypotheses, references, sources = (list(column) for column in zip(*rows, strict=True))
    for name in (name for name in OF_TEXTS if METRICS[name].answer_kind != "number"):
        value = METRICS.build(Choice(name)).score(hypotheses, references, sources).value
        assert (-100 if name in ("matthews", "kappa") else 0) <= value < float("inf")


def test_exact_match_by_hand():
    texts, references = ["A b", "caf\u00e9", "x y", "no"], [["a b", "A  b "], "cafe\u0301", "xy", "yes"]
    assert ExactMatch().score(texts, references).value == 50
    assert ExactMatch(ignore_spaces=True).score(texts, references).value == 75
    assert ExactMatch(lowercase=True).score(["AB"], ["ab"]).value == 100
    assert ExactMatch().score(["AB"], ["ab"]).value == 0


def test_words_of_any_script():
    assert words("I can't, 我喜欢Python。") == ["I", "can", "'", "t", ",", "我", "喜", "欢", "Python", "。"]


def test_repetitions_by_hand():
    assert repetitions(["the", "the", "big", "cat", "the", "big", "cat"]) == 1
    assert repetitions(["ha", "ha", "ha"]) == 2
    assert repetitions(["a", "b", "a", "b", "c"]) == 1
    assert repetitions([]) == 0
    rate = RepetitionRate()
    assert rate.score(["a b a b c", "x"], ["a b c", "x"]).value == pytest.approx(100 / 6)
    assert rate.score(["a b a b c"], ["d d"]).value == 0  # the reference repeats as much
    assert rate.score(["a", "b b"], ["c c", "d"]).value == pytest.approx(100 / 3)  # one sentence pays not for another


def test_untranslated_words_by_hand():
    rate = UntranslatedRate()
    assert rate.score(["I see Haus 7 Berlin"], ["I see house 7 Berlin"], ["Haus 7 Berlin"]).value == 20
    assert rate.score(["7 !"], ["eight"], ["7 !"]).value == 0
    with pytest.raises(RegardError, match="needs the source texts"):
        rate.score(["a"], ["b"])


def test_length_ratio_by_hand():
    assert LengthRatio().score(["a b", "c"], [["a b c d", "a b c"], "c"]).value == 3 / 4


@pytest.mark.parametrize(
    ("hypotheses", "references", "sources", "message"),
    [
        ([], [], None, "no sentences"),
        (["a"], ["a", "b"], None, "1 hypotheses but 2 references"),
        (["a"], ["a"], [], "1 hypotheses but 0 sources"),
        (["a", "b"], ["a", []], None, "sentence 2 has no reference"),
    ],
)
def test_wrong_counts_are_told(hypotheses, references, sources, message):
    with pytest.raises(RegardError, match=message):
        Bleu().score(hypotheses, references, sources)


def test_wrong_settings_are_told():
    with pytest.raises(ConfigError, match=r"tokenize: there is no '13b'.*did you mean '13a'\?"):
        METRICS.build(Choice("bleu", {"tokenize": "13b"}))
    with pytest.raises(ConfigError, match="character_order: must be at least 1, not 0"):
        METRICS.build(Choice("chrf", {"character_order": 0}))
    assert METRICS.settings("bleu").keys() == {"tokenize", "lowercase"}


def test_a_tokenizer_without_its_software_is_told(monkeypatch):
    for module in ("MeCab", "ipadic", "sacrebleu.tokenizers.tokenizer_ja_mecab"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigError, match=r"'ja-mecab' needs software.*sacrebleu\[ja\]"):
        Bleu(tokenize="ja-mecab").score(["a"], ["a"])


def test_evaluation_needs_no_torch():
    program = "import sys, regard.evaluation; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


# Smoothed BLEU of single sentences, by hand


def figure(hypotheses, references, **settings):
    return METRICS.build(Choice("sentence_bleu", settings)).score(hypotheses, references).value


def test_by_hand():
    """Words 3 of 4, pairs (1 + 1) of (3 + 1), triples (0 + 1) of (2 + 1), fours (0 + 1) of (1 + 1), one word short."""
    product = 3 / 4 * 2 / 4 * 1 / 3 * 1 / 2
    wanted = 100 * product**0.25 * math.exp(1 - 5 / 4)
    assert figure(["a dog sees me"], ["a dog sleeps near me"]) == pytest.approx(wanted)


def test_it_is_the_mean_over_sentences():
    texts, wanted = ["a dog", "no", "two cats sleep"], ["a dog", "yes", "two cats eat"]
    each = [figure([text], [one]) for text, one in zip(texts, wanted, strict=True)]
    assert figure(texts, wanted) == pytest.approx(sum(each) / 3)
    assert each[:2] == [100.0, 0.0]


def test_the_best_reference_counts():
    assert figure(["a dog"], [["no", "a dog"]]) == 100.0


def test_repeated_words_count_as_often_as_in_the_reference():
    assert figure(["the the"], ["the cat"], order=1) == pytest.approx(50.0)


def test_empty_texts():
    assert figure(["", "", "a"], ["", "a", ""]) == pytest.approx(100 / 3)


def test_case():
    assert figure(["A Dog"], ["a dog"], lowercase=True) == 100.0 > figure(["A Dog"], ["a dog"])


@pytest.mark.parametrize(
    ("word", "loops"), [("Donau-nau-nau,", True), ("cha-cha-cha", False), ("ping-pong-pong", False)]
)
def test_an_end_of_a_word_repeated_behind_hyphens_is_a_loop(word, loops):
    assert loops_inside(word) is loops
    found = with_loops_named(TextPrediction("a river", f"Die {word} fließt", 0.0))
    assert found.warning == (f"'{word}' {STUTTERS}" if loops else "")
    given = TextPrediction(f"the {word} flows", f"Die {word} fließt", 0.0)  # copied from the source
    assert with_loops_named(given).warning == ""


@pytest.mark.parametrize(
    ("word", "loops"), [("lalalalalala", 1), ("lalala", 0), ("barbarian", 0), ("1010101010", 0), ("Mississippi", 0)]
)
def test_a_loop_inside_a_word_is_a_repetition(word, loops):
    assert repetitions(["he", "sings", word, "loudly"]) == loops
    assert looped(f"he sings {word} loudly") == bool(loops)
    rate = RepetitionRate()
    assert rate.score([f"he sings {word} loudly"], ["he sings to us loudly"]).value == 25 * loops
