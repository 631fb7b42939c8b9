"""The page of labels, tags and places in a real browser: what it shows equals the JSON that it was made of."""

from dataclasses import replace

import pytest
from axe_playwright_python.sync_playwright import Axe
from explanations import of_hops, of_label

from regard.answers import LabelPrediction
from regard.answers.span import SpanPrediction
from regard.answers.tags import TagsPrediction
from regard.explain import page, to_json
from regard.predictor.predictions import Predictions
from regard.results import AttentionMap
from regard.tasks.label_task import EMPTY_TEXT, UNKNOWN_WORDS

pytestmark = pytest.mark.slow

SENTENCES = ["Mary went home .", "John went out ."]


def labelled(**columns: object) -> LabelPrediction:
    tokens = [" a", " fi", "ne", " film", "</s>"]
    maps = [AttentionMap("pooling", "pooling", 0, [[[0.1, 0.3, 0.2, 0.3, 0.1]]], "", "text")]
    found = of_label({"text": tokens, "label": ["<good>"]}, maps)
    chances = {"<good>": 0.9, **{f"label {at}": 0.1 / 9 for at in range(9)}}
    return LabelPrediction("a  fine film", "<good>", -0.1, explanation=found, probabilities=chances)


def compared() -> LabelPrediction:
    columns = {"first": [" a", " dog", "</s>"], "second": [" cats", "</s>"], "label": ["no"]}
    weights = [[[0.5, 0.5], [0.25, 0.75], [1.0, 0.0]]]
    own = [[[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]]]
    maps = [
        AttentionMap("own", "encoder", 0, own, "first", "first"),
        AttentionMap("forth", "cross", 0, weights, "first", "second"),
    ]
    found = of_label(columns, maps)
    return LabelPrediction("a dog\tcats", "no", -0.7, explanation=found, probabilities={"no": 0.5, "yes": 0.5})


def asked() -> LabelPrediction:
    rows = {"hop 1": [0.75, 0.25], "hop 2": [1.0, 0.0]}
    columns = {
        "passage": [" Mary", " went", "</s>"],
        "question": [" Where", "</s>"],
        "sentences": SENTENCES,
        "answer": ["home"],
    }
    found = of_hops(columns, rows)
    return LabelPrediction(
        "Mary went home. John went out.\tWhere is Mary?", "home", 0.0, explanation=found, probabilities={"home": 1.0}
    )


def weights(seen, selector: str) -> list[float]:
    return [float(one.get_attribute("data-weight")) for one in seen.all(selector).all()]


def test_a_label_its_bars_and_the_words_that_were_looked_at(visit):
    prediction = labelled()
    seen = visit(prediction)
    (told,) = to_json([prediction])["predictions"]
    assert seen.texts(".verdict") == ["<good>"]
    assert (
        seen.texts(".answer-card > .shares .share-name")[0] == "<good>"
        and seen.all(".answer-card > .shares li").count() == 6
    )
    seen.all(".answer-card summary").click()
    assert seen.texts(".answer-card summary") == ["4 more"]
    assert len(seen.texts(".share-name")) == len(told["details"]["probabilities"])
    share = seen.all(".share-bar").first.evaluate("bar => bar.style.getPropertyValue('--share')")
    assert share == f"{100 * told['details']['probabilities']['<good>']:.2f}%"
    pieces, (row,) = told["explanation"]["columns"]["text"]["words"], told["explanation"]["maps"][0]["weights"][0]
    by_json = [sum(row[piece] for piece in word["pieces"]) for word in pieces[:-1]]
    assert weights(seen, ".seen") == pytest.approx(by_json)
    assert seen.all(".read").inner_text() == "a  fine film"
    strongest = seen.all(".seen").nth(1).evaluate("word => word.style.getPropertyValue('--weight')")
    assert strongest == "100.0%"
    assert seen.texts(".tokens.queries") == ["<good>"]


def test_words_are_coloured_where_they_were_read(visit):
    """Unknown, without its apostrophe, in lower case, a sign that is two halves to JavaScript, and far behind."""
    text = "not read " * 40 + "👀 The plot isn't 好"
    words = ["👀", "The", "plot", "isn't", "好"]
    tokens = ["<unk>", " the", "<unk>", " isnt", "好", "</s>"]
    rows = [0.1, 0.4, 0.2, 0.15, 0.05, 0.1]
    offsets = {"text": [*([text.index(word), text.index(word) + len(word)] for word in words), None]}
    maps = [AttentionMap("pooling", "pooling", 0, [[rows]], "", "text")]
    found = of_label({"text": tokens, "label": ["bad"]}, maps, offsets=offsets)
    prediction = LabelPrediction(text, "bad", -0.1, explanation=found, probabilities={"bad": 1.0})
    seen = visit(prediction)
    assert seen.texts(".seen") == words
    assert weights(seen, ".seen") == pytest.approx(rows[:-1])
    before = seen.all(".read").first.evaluate("text => text.firstChild.textContent")
    assert before == "not read " * 40
    (named,) = seen.texts(".answer-card .quiet")
    assert [named.index(word) for word in ("The", "plot", "isn't")] == sorted(
        map(named.index, ("The", "plot", "isn't"))
    )
    old = to_json([prediction])
    del old["predictions"][0]["explanation"]["offsets"]
    assert visit(html=page(old)).texts(".seen") == []  # searched for near the front, as before places were told


def test_pairs_begin_with_what_looks_from_one_at_the_other(visit):
    seen = visit(compared())
    kinds = seen.all(".controls select").first.locator("option")
    assert kinds.all_inner_texts() == ["First text → Second text", "First text → First text"]
    assert seen.texts(".keys .token") == ["cats"] and seen.texts(".queries .token") == ["a", "dog"]
    labels = seen.all(".heat .cell").evaluate_all("cells => cells.map(cell => cell.getAttribute('aria-label'))")
    assert [label.rpartition(" ")[2] for label in labels] == ["50%", "25%"]


def test_hops_are_a_table_of_sentences(visit):
    prediction = asked()
    seen = visit(prediction)
    assert seen.texts(".looks thead th") == ["Sentences", "hop 1", "hop 2"]
    assert seen.texts(".looks tbody th") == SENTENCES
    (told,) = to_json([prediction])["predictions"]
    hops = [each["weights"][0][0] for each in told["explanation"]["maps"]]
    assert weights(seen, ".looks td") == [hop[sentence] for sentence in range(2) for hop in hops]
    assert seen.texts(".queries .token") == ["hop 1", "hop 2"]
    assert seen.texts(".keys .token") == SENTENCES


def test_tags_stand_below_their_words(visit):
    found = TagsPrediction(
        "Ann 👀  York", "NAME O PLACE", -1.0, tags=["NAME", "O", "PLACE"], probabilities=[0.9, 0.6, 0.3]
    )
    seen = visit(found)
    assert seen.texts(".tagged") == ["Ann\nNAME", "👀\nO", "York\nPLACE"]
    kinds = [one.get_attribute("class").split()[-1] for one in seen.all(".tag").all()]
    assert kinds == ["sure", "fair", "poor"]
    assert seen.all("#viewer").is_hidden()


def test_a_place_is_marked_in_its_text(visit):
    passage = "Built 🏗 in 1889, for the fair of 1889"  # a character that JavaScript counts twice
    start = passage.rindex("1889")
    seen = visit(SpanPrediction(f"{passage}\tFor which fair?", "1889", -1.0, start=start, end=start + 4))
    assert seen.texts(".read mark") == ["1889"]
    before = seen.all(".read").first.evaluate("text => text.firstChild.textContent")
    assert before == passage[:start]


def test_a_notebook_shows_the_same(visit):
    seen = visit(html=f"<!doctype html><title>a notebook</title>{Predictions([labelled(), asked()])._repr_html_()}")
    frame = seen.tab.frame_locator("iframe")
    frame.locator(".verdict").wait_for()
    assert frame.locator(".verdict").inner_text() == "<good>"
    frame.locator("#sentences button").nth(1).click()
    assert frame.locator(".looks thead th").all_inner_texts() == ["Sentences", "hop 1", "hop 2"]


def test_a_page_that_was_saved_before_answers_had_kinds_still_opens(visit):
    data = to_json([labelled()])
    del data["predictions"][0]["answers"]
    seen = visit(html=page(data))
    assert seen.texts(".queries .token") == ["<good>"]


@pytest.mark.parametrize("make", [labelled, compared, asked])
def test_all_of_it_is_told_in_chinese(visit, make):
    seen = visit(make(), locale="zh-CN")
    told = " ".join(seen.texts(".side-title, h2, figcaption, .controls label, .answer-card .quiet"))
    assert "undefined" not in told and "[object" not in seen.all("body").inner_text()
    assert not [word for word in ("Answer", "Text", "text", "Looked", "Rows") if word in told]


@pytest.mark.parametrize(
    ("locale", "unread", "empty", "strange"),
    [
        ("en", "Text: all words are unknown to the model", "The text is empty", "do not rely on this answer."),
        ("zh-CN", "文本：模型不认识其中任何词", "文本为空", "请勿依赖此答案。"),
    ],
)
def test_warnings_of_labels_speak_of_answers(visit, locale, unread, empty, strange):
    def warnings(prediction: LabelPrediction) -> str:
        return " ".join(visit(prediction, locale=locale).texts(".warnings"))

    tokens = ["<unk>", "<unk>", "<unk>", "</s>"]
    found = of_label({"text": tokens, "label": ["<good>"]}, labelled().explanation.maps)
    assert unread in warnings(replace(labelled(), warning=UNKNOWN_WORDS.format(name="text")))
    assert empty in warnings(replace(labelled(), warning=EMPTY_TEXT))
    assert warnings(labelled()) == ""
    assert strange in warnings(replace(labelled(), explanation=found))


@pytest.mark.parametrize("locale", ["en", "zh-CN"])
def test_the_end_has_the_name_that_a_terminal_gives_it(visit, locale):
    maps = [AttentionMap("pooling", "pooling", 0, [[[0.0, 0.3, 0.2, 0.3, 0.2]]], "", "text")]
    seen = visit(replace(labelled(), explanation=replace(labelled().explanation, maps=maps)), locale=locale)
    assert "</s> 20%" in " ".join(seen.texts(".answer-card .quiet"))
    assert any("</s>" in one for one in seen.texts(".check"))


def test_a_graded_run_says_which_method_tells_best(visit):
    def grade(value: float) -> dict:
        return {"deletion": {"value": value, "against_random": 0.01}}

    methods = {"attention": grade(0.1), "lrp": grade(0.4), "saliency": grade(0.2), "random": grade(0.5)}
    data = {**to_json([labelled()]), "grades": {"lines": 40, "methods": methods}}
    told = "LRP is the most faithful of these 3 methods: it predicts best what removing a word does (40 sentences)."
    assert told in visit(html=page(data)).all("#answer").inner_text()
    assert "在这 3 种方法中，LRP最能预测" in visit(html=page(data), locale="zh-CN").all("#answer").inner_text()
    assert "method" not in visit(labelled()).all("#answer").inner_text()


@pytest.mark.parametrize("settings", [{}, {"color_scheme": "dark"}, {"viewport": {"width": 320, "height": 800}}])
def test_methods_stand_side_by_side_for_a_label(visit, settings):
    plain = labelled()
    tokens = plain.explanation.columns["text"].texts
    rows = {"lrp": [0.1, 0.4, 0.2, -0.3, 0.0], "saliency": [0.0, 0.5, 0.0, 0.5, 0.0]}
    reasons = {
        name: of_label({"text": tokens, "label": ["<good>"]}, [AttentionMap(name, "pooling", 0, [[row]], "", "text")])
        for name, row in rows.items()
    }
    seen = visit(replace(plain, explanation=replace(plain.explanation, reasons=reasons)), **settings)
    lines = [line.locator("th, td").all_inner_texts() for line in seen.all(".looks tr").all()]
    assert lines == [
        ["Text", "Attention", "LRP", "Saliency"],
        ["a", "10%", "10%", "0%"],
        ["fine", "50%", "60%", "50%"],
        ["film", "30%", "−30%", "50%"],
        ["</s>", "10%", "0%", "0%"],
    ]
    assert seen.all(".looks td.below").count() == 1
    assert "Relevance of each word to “<good>”" in seen.all(".looks caption").inner_text()
    found = Axe().run(seen.tab).response["violations"]
    assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []


def test_words_that_speak_against_a_label_look_so(visit):
    plain = labelled()
    maps = [AttentionMap("lrp", "pooling", 0, [[[0.1, 0.4, 0.2, -0.3, 0.0]]], "", "text")]
    seen = visit(replace(plain, explanation=replace(plain.explanation, maps=maps, method="lrp")))
    assert seen.texts(".seen.below") == ["film"]
    assert "Highest relevance: \u2068fine\u2069 0.6" in seen.all("#answer").inner_text()
