"""The report as a page: self-contained, and no name in it is ever markup."""

import json
import math
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.reports.compare.charts import Line, Point, chart, ticks
from regard.reports.compare.origin import Origin
from regard.reports.compare.page import page
from regard.reports.compare.summary import finite

HOSTILE = "</script><img src=x onerror=alert(1)>{{style}}\"'&amp;\u2028\u202e\ud800|`x`"
FINITE = st.floats(-1e6, 1e6)


class Read(HTMLParser):
    """Elements with their attributes, and the texts between them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)


def test_the_values_are_json_and_tell_every_run(compared):
    told = compared({"good": 0.1, "poor": 0.6}, 3, command="regard compare").values()
    assert json.loads(json.dumps(finite(told), allow_nan=False)) == json.loads(json.dumps(told))
    poor = told["systems"][1]
    assert (told["baseline"], told["sentences"], told["command"]) == ("good", 120, "regard compare")
    assert [run["name"] for run in poor["runs"]] == ["poor-seed1", "poor-seed2", "poor-seed3"]
    assert poor["scores"]["BLEU"]["p_value"] < 0.05
    assert poor["scores"]["BLEU"]["difference"] < 0
    assert sum(bucket["sentences"] for bucket in told["by_length"]) == 120
    assert finite({"a": [math.nan, 1.0, (math.inf,)]}) == {"a": [None, 1.0, [None]]}


def test_a_curve_is_the_mean_over_the_seeds(compared):
    row = compared({"good": 0.1}, 3).rows[0]
    assert row.curve() == [(100, 10.0, 10.0, 10.0), (200, 22.0, 21.0, 23.0)]


def test_hostile_names_add_no_element(compared):
    tame = Read(page(compared({"a": 0.1, "b": 0.6}, origin=Origin("x", "y"), command="x", notes=["y"])))
    origin = Origin(HOSTILE, HOSTILE)
    wild = Read(page(compared({HOSTILE: 0.1, "b" + HOSTILE: 0.6}, origin=origin, command=HOSTILE, notes=[HOSTILE])))
    assert [tag for tag, _ in wild.elements] == [tag for tag, _ in tame.elements]
    assert [set(attributes) for _, attributes in wild.elements] == [set(one) for _, one in tame.elements]
    assert any("<img src=x onerror=alert(1)>{{style}}" in text for text in wild.texts)


def test_the_page_asks_for_nothing_and_runs_nothing_but_its_own(compared):
    html = page(compared({"a": 0.1, "b": 0.6}, command="regard compare a.yaml 'b c.yaml' --seeds 2"))
    html.encode("utf-8")
    read = Read(html)
    links = [value for _, one in read.elements for name, value in one.items() if name in ("src", "href", "action")]
    assert links == ["data:,"]
    policy = next(one["content"] for tag, one in read.elements if "http-equiv" in one and tag == "meta")
    nonces = {one.get("nonce") for tag, one in read.elements if tag in ("script", "style")}
    assert len(nonces) == 1
    assert policy.startswith("default-src 'none'")
    assert f"script-src 'nonce-{nonces.pop()}'" in policy
    assert not [one for _, one in read.elements for name in one if name == "style" or name.startswith("on")]
    assert read.texts.count("regard compare a.yaml 'b c.yaml' --seeds 2") == 1
    assert html.count('class="chart"') == 2


def test_a_surely_poorer_system_is_marked_and_a_like_one_is_not(compared):
    read = Read(page(compared({"base": 0.3, "poor": 0.9, "same": 0.3, "good": 0.0})))
    rows = [place for place, (tag, one) in enumerate(read.elements) if tag == "tr" and "data-system" in one][:5]
    marks = [
        [one.get("class") for tag, one in read.elements[start:end] if tag == "td"][2] for start, end in pairwise(rows)
    ]
    assert marks == [None, "poor", None, "sure"]


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [
        (0, 100, [0, 20, 40, 60, 80, 100]),
        (3, 9, [3, 4, 5, 6, 7, 8, 9]),
        (0.11, 0.19, [0.1, 0.12, 0.14, 0.16, 0.18, 0.2]),
    ],
)
def test_ticks_are_round(low, high, found):
    assert ticks(low, high) == found


@given(FINITE, FINITE)
def test_ticks_hold_what_they_are_for(one, other):
    low, high = sorted((one, other))
    found = ticks(low, high)
    slack = 1e-6 * max(1.0, abs(low), abs(high))
    assert found[0] - slack <= low <= high <= found[-1] + slack
    assert 2 <= len(found) <= 9


def test_lines_go_from_corner_to_corner():
    """0 to 100 across and up: from the lower left of the frame to its upper right."""
    drawn = chart([Line("a", 0, [Point(0, 0, 0, 0, ""), Point(100, 100, 100, 100, "")])], across="x", up="y")
    assert '<polyline points="56.0,296.0 706.0,12.0"/>' in drawn
    assert "band" not in drawn
    assert chart([Line("a", 0, [])], across="x", up="y") == ""


def test_what_is_no_number_is_left_out_of_a_line():
    points = [Point(0, 1, 1, 1, ""), Point(1, math.nan, math.nan, math.nan, ""), Point(2, 3, 2, 4, "")]
    drawn = chart([Line("a", 13, points)], across="x", up="y")
    assert "nan" not in drawn
    assert (drawn.count("<circle"), drawn.count("band")) == (2, 1)
    assert 'class="line c1 dashed"' in drawn
