"""Plain text: what is translated, what is kept, and placeholders that survive any translator."""

import random
import re
from collections import Counter

import pytest
from hostile import BAD, all_translated, shouted, turned
from hypothesis import given, settings
from hypothesis import strategies as st
from processor_time import within

from regard.documents import placeholders as part
from regard.documents.files import text_document
from regard.documents.placeholders import placeholders
from regard.documents.sentences import sentences
from regard.results import Explanation, Prediction

HELD = (
    "%s", "%1$s", "%(name)s", "%d", "{name}", "{0}", "{{name}}", "${x}", ":name:", "<x/>", '<g id="1">', "</g>",
    "&nbsp;",
    "https://example.com/a?b=1&c=%20#d", "www.example.com", "me@example.com", "#summer", "@someone", "@a@b.example",
    "42", "3.14", "1,000,000", "12:30", "2026/11/21", "%%", "%d%%", "%(share)d%%",
    "%1$.1f%%%%",
)  # fmt: skip


def parts(text: str) -> list[str]:
    return [text[each.start : each.end] for each in placeholders(text)]


@pytest.mark.parametrize("held", HELD)
def test_placeholder_is_found_whole(held):
    for text in (held, f"see {held} now", f"({held})", f"{held}, {held}!", f"«{held}»", f"这是 {held} 。"):
        assert set(parts(text)) == {held}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "See http://a.b/c. Then (www.d.e/f_(g)) or <http://h.i>, ok?",
            ["http://a.b/c", "www.d.e/f_(g)", "http://h.i"],
        ),
        ("100% sure, 50 %, 3rd, B2, x_1, 2nd", ["100%", "50 %", "B2", "x_1"]),
        ("100%ig, 50%的, 5%-10%", ["100", "50%", "5%-10%"]),
        ("42%s 7%1$d 你。好42%s", ["42", "%s", "7", "%1$d", "42", "%s"]),
        ("a: b {not this one} 12:", ["12"]),
        ("2 < 3 and 5>4", ["2", "3", "5", "4"]),
        ("He said :) and (: or 10:30:", ["10:30"]),
        ("2014年, 3月", ["2014"]),
        ("C# F# # 1", ["1"]),
    ],
)
def test_other_signs_are_not_placeholders(text, found):
    assert parts(text) == found


def check_held(text: str, out: str) -> None:
    before, after = (
        Counter(one[a:b] for a, b, _, numeral, _ in placeholders(one) if not numeral) for one in (text, out)
    )
    assert before <= after
    assert all(text[each.start : each.end] in out for each in placeholders(text) if each.numeral)
    machine = {text[each.start : each.end] for each in placeholders(text) if each.machine}
    for each in placeholders(out):
        if each.machine:
            assert out[each.start : each.end] in machine
    assert all(before[held] == after[held] for held in machine)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.randoms(use_true_random=False))
def test_placeholders_survive_any_translator(draws):
    pool = [*HELD, *HELD, "Hello", "the", "house.", "Really?", "walks", "\n", "Wörter,", "你好。", "😀", "file"]
    text = draws.choice([" ", " ", ""]).join(draws.choices(pool, k=draws.randrange(1, 14)))
    found = text_document(text)
    for seed in range(5):
        check_held(text, found.rebuild(all_translated(found.texts, seed)))
    assert found.explain <= bool(parts(text))


def test_five_hundred_placeholders_in_one_text():
    draws = random.Random(5)
    words = [word for held in draws.choices(HELD, k=500) for word in ("word", held)]
    text = " ".join(words)
    found = text_document(text)
    for seed in range(6):
        check_held(text, found.rebuild(all_translated(found.texts, seed)))


@pytest.mark.parametrize(
    ("source", "answer", "links", "wanted"),
    [
        ("Hello {name}, come in", "Komm rein, hallo", [(0, 3), (1, 2), (2, 0), (3, 1)], "Komm rein, hallo {name}"),
        ("Delete {count} files?", "Dateien löschen?", [(0, 1), (1, 0), (2, 2)], "Dateien löschen {count}?"),
        ("Write to me@a.org.", "Schreib an.", [(0, 0), (1, 1), (2, 2)], "Schreib an me@a.org."),
        ("buy 12 apples", "kaufe zwölf Äpfel", [(0, 0), (1, 1), (2, 2)], "kaufe 12 Äpfel"),
        ("buy 12 apples", "kaufe 12 Äpfel", [], "kaufe 12 Äpfel"),
        ("{a}{b} walks", "geht", [(0, 0)], "{a}{b} geht"),
    ],
)
def test_placeholder_goes_to_its_aligned_word(source, answer, links, wanted):
    found = text_document(source)
    asked = re.findall(r"\w+|[^\w\s]", found.texts[0])
    written = re.findall(r"\w+|[^\w\s]", answer)
    prediction = Prediction(found.texts[0], answer, 0.0, explanation=Explanation.of_text(asked, written, links, []))
    assert found.rebuild([prediction]) == wanted


@pytest.mark.parametrize("text", ["Loading %d%% done now", "up (%(share)d%%) of it", "Done: %d%%."])
def test_a_percentage_is_never_torn(text):
    """Nothing comes between a number that is filled in and its sign, whatever the translator writes."""
    (held,) = parts(text)
    for seed in range(300):
        found = text_document(text)
        assert held in found.rebuild(all_translated(found.texts, seed))


def test_subwords_and_bytes_are_mapped_to_words():
    found = text_document("see 12 houses")
    explanation = Explanation.of_text(
        ["▁see", "▁", "12", "▁hou", "ses"], ["▁H", "<0xC3>", "<0xA4>", "user", "▁zw", "ölf"],
        [(3, 0), (4, 1), (4, 2), (4, 3), (2, 4), (2, 5)], [],
    )  # fmt: skip
    assert found.rebuild([Prediction("see 12 houses", "Häuser zwölf", 0.0, explanation=explanation)]) == "Häuser 12"


@pytest.mark.parametrize(
    "text", ["", " ", "\n\n", "😀 🎉", "12", "12 + 3.5 = %s", "...", "😀\n\n  \t12\r\n", "https://a.b/c", "{x} {y}!"]
)
def test_a_text_without_words_comes_back_unchanged(text):
    found = text_document(text)
    assert found.texts == [] and found.rebuild([]) == text


def test_lines_and_spaces_are_kept():
    text = "  One line.  Two here!\r\n\r\n\tIndented\u2028x y \n\n\n- a\n- b\n"
    found = text_document(text)
    assert found.texts == ["One line.", "Two here!", "Indented", "x y", "a", "b"]
    assert found.rebuild(shouted(found.texts)) == text.upper()
    assert "".join("".join(sentence) for sentence in found.sentences) == text


@pytest.mark.parametrize(
    ("source", "target", "sentences", "answers", "wanted"),
    [
        ("en", "zh-Hans", "One. Two.  Three.\nFour.", "一。 二！ 三。 四。", "一。二！三。\n四。"),
        ("en", "zh", "One. Two. Three.", "一。 Two. 三。", "一。Two. 三。"),  # what stays Latin keeps its space
        ("en", "ja", "One. Two.", "一。 「二」", "一。「二」"),
        ("en", "th", "One. Two.", "หนึ่ง สอง", "หนึ่ง สอง"),  # Thai parts sentences by spaces
        ("en", "de", "One. Two.", "Eins. Zwei.", "Eins. Zwei."),
        ("zh", "en", "一。二！三。", "One. Two! Three.", "One. Two! Three."),
        ("zh", "ja", "一。二！", "いち。 に！", "いち。に！"),
    ],
)
def test_sentences_are_joined_as_the_target_has_it(source, target, sentences, answers, wanted):
    found = text_document(sentences, language=source)
    pairs = zip(found.texts, answers.split(), strict=True)
    assert found.rebuild([Prediction(text, answer, 0.0) for text, answer in pairs], (source, target)) == wanted


@pytest.mark.parametrize(
    ("language", "text", "wanted"),
    [
        ("en", "Mr. Smith came at 3 p.m. yesterday. He left.", ["Mr. Smith came at 3 p.m. yesterday.", "He left."]),
        ("de", "Das ist z.B. ein Test. Noch einer!", ["Das ist z.B. ein Test.", "Noch einer!"]),
        ("zh", "今天很好。我们去公园吧！好吗？", ["今天很好。", "我们去公园吧！", "好吗？"]),
        ("zh", "“你好。”他说。再见。", ["“你好。”他说。", "再见。"]),
        ("ja", "今日は。「はい。」と言った。", ["今日は。", "「はい。」と言った。"]),
        ("vi", "Xin chào. Bạn khỏe không?", ["Xin chào.", "Bạn khỏe không?"]),
        (None, "Go to http://a.b/?c. Now.", ["Go to http://a.b/?c.", "Now."]),
        ("xx", "What? Yes.", ["What?", "Yes."]),
    ],
)
def test_sentences(language, text, wanted):
    kept = [(each.start, each.end) for each in placeholders(text)]
    assert [text[start:end] for start, end in sentences(text, language=language, kept=kept)] == wanted


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text(max_size=300), st.sampled_from(["en", "zh", "de", None]), st.integers(5, 60))
def test_sentences_cover_any_text_in_order(text, language, limit):
    cursor = 0
    for start, end in sentences(text, language=language, limit=limit):
        assert cursor <= start < end and end - start <= limit
        assert not text[cursor:start].strip() and text[start:end] == text[start:end].strip()
        cursor = end
    assert not text[cursor:].strip()


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.one_of(st.text(max_size=200), st.lists(st.sampled_from(BAD)).map("".join)), st.integers(0, 9))
def test_any_text_and_any_answer(text, seed):
    found = text_document(text)
    out = found.rebuild(all_translated(found.texts, seed))
    if not found.texts:
        assert out == text
    assert text_document(text).rebuild(turned(found.texts)).strip() != "" or not found.texts


def test_a_long_text_without_stops_is_cut_at_commas_and_words():
    text = "and so on, " * 100 + "字" * 1000 + "x" * 1000
    found = text_document(text)
    assert max(map(len, found.texts)) <= 400
    assert found.texts[0].endswith(",")
    assert "".join(found.texts).replace(" ", "") == text.replace(" ", "").replace("x", "")
    assert found.rebuild(shouted(found.texts)).endswith("字" + "x" * 1000)


def test_overlong_words_are_kept_untranslated():
    """Tokens, keys, a cat on the keyboard: a model would only take its time."""
    assert within(0.5, lambda: text_document("a" * 50_000)).texts == []
    found = text_document("see " + "ab" * 300 + " now")
    assert found.rebuild(shouted(found.texts)) == "SEE " + "ab" * 300 + " NOW"
    assert text_document("Donau" * 19).texts == ["Donau" * 19]
    assert max(map(len, text_document("没有标点" * 300).texts)) <= 160


@pytest.mark.parametrize(
    ("text", "texts", "out"),
    [
        ("- A dog.", ["A dog."], "- dog. A"),
        ("–A dog.", ["A dog."], "–dog. A"),
        ("* an item\n• one\n1. two", ["an item", "one", "two"], "* item an\n• one\n1. two"),
        ("♪ la di ♪", ["la di"], "♪ di la ♪"),
        ("😀 A dog", ["A dog"], "😀 dog A"),
        ("A dog 👩‍👩‍👧 🇩🇪", ["A dog"], "dog A 👩‍👩‍👧 🇩🇪"),
        ("-a@b.example came", ["came"], "-a@b.example came"),
        ("{😀} A dog {x😀}", ["A dog"], "{😀} {x😀} dog A"),
        ("--help me out", ["--help me out"], "out me --help"),
    ],
)
def test_leading_and_trailing_signs_are_kept(text, texts, out):
    found = text_document(text)
    assert found.texts == texts
    if "{" not in text:
        assert found.rebuild(turned(found.texts)) == out
    check_held(text, found.rebuild(turned(found.texts)))


def test_prediction_count_must_match_texts():
    found = text_document("One. Two.")
    with pytest.raises(ValueError, match="for 2 texts"):
        found.rebuild(shouted(["One."]))


def test_control_characters_are_dropped():
    found = text_document("a\0b c\ud800 \x1bd")
    assert found.texts == ["ab c\ufffd d"]


HOSTILE = (
    "a" * 100_000, "1" * 100_000, "1." * 50_000, "1.1a" * 25_000, "%" * 100_000, "%(" * 50_000, "{" * 100_000,
    "{{" * 50_000,
    "${" * 50_000, ":a" * 50_000, "<a " * 33_000, "<" * 100_000, "&a" * 50_000, "a@" * 50_000, "@a" * 50_000,
    "a.b@c." * 16_000,
    "#a" * 50_000, "http://" * 14_000, "http://a)" * 11_000, "www." * 25_000, "http://" + ")" * 100_000, "%1$" * 33_000,
    "+" * 100_000, ".a-" * 33_000, "mailto:" * 14_000, "{a" * 50_000, "%(a)" * 25_000, "<a " + " " * 100_000,
    "&#1" * 33_000,
)  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:8])
def test_placeholders_are_found_in_little_time(text):
    placeholders("warm")
    found = within(0.5, lambda: placeholders(text))  # 30 to 70 ms on an idle machine
    ends = [0, *(each.end for each in found)]
    assert all(end <= each.start < each.end <= len(text) for end, each in zip(ends, found, strict=False))


@pytest.mark.parametrize(
    "text",
    [*HOSTILE[::6], "“«(." * 25_000, "a. " * 33_000, "\n" * 100_000, " " * 100_000, "e\u0301" * 9_000, "。" * 100_000],
    ids=lambda text: repr(text[:8]),
)
def test_a_hostile_text_takes_little_time(text):
    def there_and_back():
        found = text_document(text)
        return found.rebuild(shouted(found.texts))

    assert within(8.0, there_and_back) or not text


PARTS = [
    "%s",
    "{name}",
    "http://a.b/c?d=e,",
    "12,345.6",
    "-5 °C",
    "€1,234.56",
    "a" * 150,
    "b" * 9000,
    "1" * 200,
    "word",
    "#tag",
    "x@y.de",
    "😀",
    "&amp;",
    "<b c='d'>",
    "日本",
    "+33 1 23 45 67 89",
    "12/31/2024",
    ". ",
    "\n",
]


@pytest.mark.parametrize(("step", "count"), [(20, 3), (333, 10)])
def test_portions_find_what_one_reading_finds(monkeypatch, step, count):
    draws = random.Random(step)
    texts = ["".join(draws.choice(PARTS) + draws.choice([" ", "", "\n"]) for _ in range(100)) for _ in range(count)]
    monkeypatch.setattr(part, "STEP", 10**9)
    whole = [placeholders(text) for text in texts]
    monkeypatch.setattr(part, "STEP", step)
    assert [placeholders(text) for text in texts] == whole
