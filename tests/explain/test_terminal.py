"""What a terminal gets to see."""

import io
from dataclasses import replace

from rich.console import Console

from regard.answers import show
from regard.answers.terminal import heat_map
from regard.results import Explanation, Prediction


def shown(*predictions: Prediction, **settings: object) -> str:
    file = io.StringIO()
    show(predictions, Console(file=file, width=200, **settings))
    return file.getvalue()


def test_a_heat_map_by_hand():
    assert heat_map(["das", "Haus"], ["the", "house"], [[1.0, 0.0], [0.26, 0.74]]).splitlines() == [
        "  the │██  │",
        "house │░░▓▓│",
        "       │ └── Haus",
        "       └──── das",
    ]


def test_shades_are_the_nearest_quarter():
    row = heat_map(["a"] * 5, ["x"], [[0.0, 0.12, 0.13, 0.5, 0.88]]).splitlines()[0]
    assert row == "x │    ░░▒▒██│"


def test_a_weight_below_zero_has_a_bar_and_the_greatest_is_full():
    row = heat_map(["a"] * 5, ["x"], [[0.0, 4.0, -4.0, 1.0, -0.2]]).splitlines()[0]
    assert row == "x │  ███-░░  │"


def test_a_weight_that_is_no_number_has_no_shade():
    assert heat_map(["a", "b"], ["x"], [[float("nan"), float("inf")]]).splitlines()[0] == "x │    │"


def test_wide_letters_keep_the_columns_straight():
    rows = heat_map(["a"], ["你好", "x"], [[1.0], [1.0]]).splitlines()
    assert rows[:2] == ["你好 │██│", "   x │██│"]


def test_each_word_names_what_it_looked_at():
    found = Explanation.of_text(["▁a", "▁b", "▁c", "▁d"], ["▁x"], [], [[0.2, 0.5, 0.04, 0.26]])
    lines = shown(Prediction("a b c d", "x", -0.5, explanation=found)).splitlines()
    assert lines[:3] == ["a b c d", "x  -0.500", "  x ← b 50%, d 26%, a 20%"]


def test_small_weights_are_not_named():
    found = Explanation.of_text(["▁a", "▁b"], ["▁x"], [], [[0.96, 0.04]])
    assert "x ← a 96%\n" in shown(Prediction("", "x", 0.0, explanation=found))


def test_weights_that_are_scores_are_told_with_their_sign():
    """No row of these sums to one, so there is no per cent; the strongest comes first, whatever its sign."""
    found = Explanation.of_text(["▁a", "▁b", "▁c", "</s>"], ["▁x", "▁y"], [], [[0.5, -2.25, 0.1, 0.3], [4, 1, 0, 0]])
    lines = shown(Prediction("a b c", "x y", 0.0, explanation=found)).splitlines()
    assert lines[2:4] == ["  x ← b −2.25, a 0.5, </s> 0.3", "  y ← a 4, b 1"]
    assert lines[4:6] == ["x │  ▒-  │", "y │██░░  │"]
    assert lines[-2] == "full colour: 4, with a bar: below zero"


def test_weights_that_do_not_compete_are_no_per_cent():
    """Of sigmoids the pieces of a word may sum to more than one."""
    found = Explanation.of_text(["▁ca", "t", "▁b"], ["▁x"], [], [[0.9, 0.8, 0.25]])
    lines = shown(Prediction("cat b", "x", 0.0, explanation=found)).splitlines()
    assert lines[2] == "  x ← cat 1.7, b 0.25"
    assert "%" not in "".join(lines)
    assert lines[-2] == "full colour: 1.7"


def test_shares_say_nothing_of_a_scale(house):
    assert "full colour" not in shown(house)


def test_words_that_repeat_are_told_apart():
    found = Explanation.of_text(["▁the", "▁cat", "▁the"], ["▁x", "▁x"], [], [[0.5, 0.2, 0.3], [0, 0, 1]])
    lines = shown(Prediction("the cat the", "x x", 0.0, explanation=found)).splitlines()
    assert lines[2:4] == ["  x₁ ← the₁ 50%, the₂ 30%, cat 20%", "  x₂ ← the₂ 100%"]
    assert [line.split()[0] for line in lines[4:6]] == ["x₁", "x₂"]
    assert [line.split()[-1] for line in lines[6:9]] == ["the₂", "cat", "the₁"]


def test_what_looks_at_the_end_symbol_says_so():
    found = Explanation.of_text(
        ["▁a", "</s>"], ["▁x", "y", "▁z", "</s>"], [], [[0.3, 0.7], [0.18, 0.82], [0.97, 0.03], [0, 1]]
    )
    lines = shown(Prediction("a", "xy z", 0.0, explanation=found)).splitlines()
    assert lines[2:4] == ["  xy ← </s> 76%, a 24%", "  z ← a 97%"]
    assert "</s>" not in "".join(lines[4:])  # no column of the map


def test_the_rest_of_the_n_best_follows():
    answer = Prediction("s", "best", -1.0, alternatives=[Prediction("s", "good", -2.0), Prediction("s", "bad", -3.0)])
    assert shown(answer).splitlines() == ["s", "best  -1.000", "2. good  -2.000", "3. bad  -3.000", ""]


def test_cut_off_is_said(house):
    assert "cut off" in shown(replace(house, finished=False))
    assert "cut off" not in shown(house)


def test_a_model_without_weights_shows_its_text():
    found = Explanation.of_text(["▁a"], ["▁x"], [], [])
    assert shown(Prediction("a", "x", 0.0, explanation=found)).splitlines() == ["a", "x  0.000", ""]


def test_a_long_sentence_has_no_heat_map(make):
    long = [f"▁w{place}" for place in range(41)]
    assert "│" not in shown(make(long, ["▁x"], [0]))
    assert "│" in shown(make(long[:40], ["▁x"], [0]))


def test_hostile_tokens_are_neither_markup_nor_control(make):
    hostile = ["▁[bold]a[/bold]", "▁\x1b[31m", "▁\u202e", "▁\ud800", "▁[link=file:///etc]"]
    text = shown(make(hostile, hostile, range(5)), force_terminal=False)
    assert "[bold]a[/bold]" in text
    assert not {"\x1b", "\u202e", "\ud800"} & set(text)
    text.encode("utf-8")


def test_colour_is_the_consoles_business(house):
    assert "\x1b[" in shown(house, force_terminal=True, color_system="standard", no_color=False, _environ={})
    assert "\x1b[3" not in shown(house, force_terminal=True, no_color=True, _environ={})


def test_a_translation_tells_what_came_from_the_source():
    sides = {"source": [0.2, 0.75, 0.25, 0.9], "target": [0.8, 0.25, 0.75, 0.1]}
    found = Explanation.of_text(
        ["▁a", "</s>"], ["▁ein", "▁Ho", "se", "</s>"], [], [[1.0, 0.0]] * 4, method="lrp", sides=sides
    )
    assert "from the source: ein 20%, Hose 50%" in shown(Prediction("a", "ein Hose", -1.0, explanation=found))
