"""The renderer's own arithmetic, by hand: a module is asked in the browser, without the page around it."""

import math

import pytest
from browsing import Visit

pytestmark = pytest.mark.slow

MAPS = [{"weights": [[], [], []]}, {"weights": [[], [], []]}]  # two layers of three heads


@pytest.fixture
def call(browser, server):
    """`call(module, function, *values)`."""
    opened = Visit(browser, f"{server.address}static/explain/data.js", allowed=(server.address,))

    def ask(module: str, function: str, *values):
        script = "async ([module, name, values]) => (await import(`/static/explain/${module}.js`))[name](...values)"
        return opened.tab.evaluate(script, [module, function, list(values)])

    yield ask
    opened.context.close()


def test_heads_are_averaged_or_the_greatest_taken(call):
    heads = [[[0.5, 0.5], [1, 0]], [[0.1, 0.9], [0.5, 0.5]]]
    assert call("data", "combine", heads, False) == [[0.3, 0.7], [0.75, 0.25]]
    assert call("data", "combine", heads, True) == [[0.5, 0.9], [1, 0.5]]


def test_rollout_by_hand(call):
    """(A2 + I)/2 times (A1 + I)/2: [[.5, .5], [0, 1]] and [[1, 0], [.5, .5]]."""
    layers = [[[[1, 0], [1, 0]]], [[[0, 1], [0, 1]]]]
    assert call("data", "rollout", layers) == [[0.75, 0.25], [0.5, 0.5]]


def test_pieces_are_joined_to_words(call):
    words = [{"pieces": [0]}, {"pieces": [1, 2]}]
    matrix = [[0.2, 0.3, 0.5], [1, 0, 0], [0, 0.5, None]]
    assert call("data", "joined", matrix, words, words) == [[0.2, 0.8], [0.5, 0.25]]


@pytest.mark.parametrize(
    ("share", "kept"), [(100, [0.5, 0.1, 0.4]), (60, [0.5, 0, 0.4]), (50, [0.5, 0, 0]), (5, [0.5, 0, 0])]
)
def test_the_strongest_part_of_a_row(call, share, kept):
    assert call("data", "strongest", [[0.5, 0.1, 0.4], [0, 0, 0]], share) == [kept, [0, 0, 0]]


def test_calibrated_confidence_stands_in_for_probabilities(call):
    """Of a word with two pieces their product; the end symbol has none that is calibrated."""
    log_probs, words = [math.log(0.5), math.log(0.8), math.log(0.9)], [{"pieces": [0, 1]}, {"pieces": [2]}]
    told = {"explanation": {"target_tokens": ["a", "b", "</s>"]}, "log_probs": log_probs}
    mended = {**told, "details": {"calibrated": True, "confidence": 0.45, "confidences": [0.4, 0.5]}}
    assert [call("data", "chance", told, word) for word in words] == pytest.approx([0.4, 0.9])
    assert [call("data", "chance", mended, word) for word in words] == pytest.approx([0.2, 0.9])
    assert call("data", "certainty", told) == pytest.approx((0.5 * 0.8 * 0.9) ** (1 / 3))
    assert call("data", "certainty", mended) == 0.45
    plain = {**told, "details": {"calibrated": False, "confidence": 0.65}}
    assert call("data", "certainty", plain) == 0.65  # what JSON tells: the mean without the end symbol
    assert call("data", "certainty", {**mended, "sure": 0.7}) == 0.7  # what was told before other pieces came


def test_heads_in_and_out(call):
    without = call("selection", "toggled", None, MAPS, 0, 1)
    assert without == ["0/0", "0/2", "1/0", "1/1", "1/2"]
    assert call("selection", "toggled", without, MAPS, 0, 1) is None  # all again
    assert call("selection", "toggled", ["0/0"], MAPS, 0, 0) is None  # never none
    assert call("selection", "solo", without, MAPS, 1, 2) == ["1/2"]
    assert call("selection", "solo", ["1/2"], MAPS, 1, 2) is None


def test_selectors_tell_what_they_can(call):
    for layer, head in (("all", "all"), (1, "all"), ("all", 2), (0, 1)):
        heads = call("selection", "within", MAPS, layer, head)
        assert call("selection", "told", heads, MAPS) == {"layer": layer, "head": head}
    assert call("selection", "told", ["0/0", "1/1"], MAPS) == {"layer": "some", "head": "some"}


@pytest.mark.parametrize(
    ("text", "best", "changed"),
    [
        ("Der Hund rennt spazieren.", "Der Hund rennt.", ["spazieren"]),
        ("Der Hund rennt!", "Der Hund rennt.", ["!"]),
        ("I don't.", "I do.", ["don't"]),
        ("一只大狗。", "一只狗。", ["大"]),
        ("“a, b”", "a b", ["“", ",", "”"]),
        ("a well-known b...", "a b", ["well-known", "..."]),
    ],
)
def test_only_words_that_differ_are_marked(call, text, best, changed):
    parts = call("text", "compared", text, best)
    assert "".join(part for part, _ in parts) == text
    assert [part for part, is_changed in parts if is_changed] == changed


def test_words_are_found_in_their_text(call):
    words = [{"text": "a"}, {"text": "ab"}, {"text": "x"}, {"text": "a"}, {"text": "</s>", "special": True}]
    assert call("text", "places", "a ab a</s>", words) == [[0, 1], [2, 4], None, [5, 6], None]


def test_data_inside_a_page_are_only_data(call):
    data = {"text": "</script><!--\u2028 $& $1"}
    made = call("files", "html", '<p></p><script type="application/json" id="data">{}</script><i>', data)
    assert made.count("<") == 5
    assert r"\u003c/script\u003e\u003c!--\u2028 $\u0026 $1" in made


@pytest.mark.parametrize(("heads", "columns"), [(1, 1), (3, 3), (4, 4), (6, 3), (8, 4), (9, 3), (16, 4)])
def test_rows_of_tiles_are_alike(call, heads, columns):
    assert call("tiles", "columnsOf", heads) == columns


@pytest.mark.parametrize(
    ("tokens", "kinds", "told"),
    [
        (["▁", "<0xE4>", "<0xBD>", "<0xA0>", "</s>"], ["unsure"], ["mostlyUnread"]),
        (["▁a", "▁b", "</s>"], ["untranslated", "untranslated", "unsure", "unsure"], ["mostlyUntranslated"]),
        (["▁a", "▁b", "</s>"], ["unsure", "unsure", "unattended", "unattended"], ["mostlySkipped", "mostlyUnsure"]),
        (["▁a", "▁b", "</s>"], ["unsure", "repeated", "untranslated", "unattended"], []),
    ],
)
def test_warnings_of_a_whole_translation(call, tokens, kinds, told):
    words = [{"text": token} for token in tokens[-3:]]
    explanation = {"source_tokens": tokens, "source_words": words, "target_words": words}
    assert call("candidates", "warnings", [{"kind": kind} for kind in kinds], explanation) == told
