"""The page as a document: self-contained, and no text in it is ever markup."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import RegardError
from regard.explain import fragment, page, to_json
from regard.explain.diagnosis import UNSURE_BELOW
from regard.explain.frame import bundle
from regard.explain.page import html_json
from regard.results import AttentionMap, Explanation, Prediction

HOSTILE = ["</script><img src=x onerror=alert(1)>", "<!--<script>", "\u2028", "\ud800", "{{script}}", "&lt;", '"']
SVG = "http://www.w3.org/2000/svg"
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=())), inner),
    max_leaves=8,
)


class Read(HTMLParser):
    """Elements with their attributes, and what stands in the data script."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.data = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.elements and self.elements[-1] == ("script", {"type": "application/json", "id": "data"}):
            self.data += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def hostile() -> Prediction:
    count = len(HOSTILE)
    found = Explanation.of_text(HOSTILE, HOSTILE, [(0, 0)], [[1.0 / count] * count] * count)
    return Prediction("".join(HOSTILE), "".join(HOSTILE), 0.0, explanation=found)


def test_the_json_of_a_prediction(house):
    (told,) = to_json([house])["predictions"]
    assert told["text"] == "the old house is small"
    assert [word["text"] for word in told["explanation"]["source_words"]] == [
        "das",
        "alte",
        "Haus",
        "ist",
        "klein",
        "</s>",
    ]
    assert told["explanation"]["alignment"][2] == [2, 2]
    assert [flag["kind"] for flag in told["flags"]] == ["unsure", "unsure"]
    assert [other["explanation"] for other in told["alternatives"]] == [None, None]
    assert {each["kind"] for each in told["explanation"]["maps"]} == {"cross", "encoder", "decoder"}


def test_numbers_are_short_and_what_is_none_is_null():
    found = Explanation.of_text(["a"], ["x"], [], [[0.123456]])
    answer = Prediction("a", "x", float("-inf"), [float("nan")], explanation=found)
    (told,) = to_json([answer])["predictions"]
    assert (told["score"], told["log_probs"], told["explanation"]["weights"]) == (None, [None], [[0.123]])
    assert json.dumps(to_json([replace(answer, score=1.0)])).count("1.0") == 0


def test_the_json_says_which_weights_are_shares(house):
    told = to_json([house])["predictions"][0]["explanation"]
    assert told["shares"] and all(each["shares"] for each in told["maps"])
    maps = [AttentionMap("m", "cross", 0, [[[0.5, 0.5]], [[0.9, 0.8]]])]
    found = Explanation.of_text(["a", "b"], ["x"], [], [[-0.5, 1.5]], maps)
    told = to_json([Prediction("a b", "x", 0.0, explanation=found)])["predictions"][0]["explanation"]
    assert (told["shares"], told["maps"][0]["shares"]) == (False, False)
    assert told["weights"] == [[-0.5, 1.5]]


def test_the_json_comes_back(house):
    data = to_json([house, hostile()])
    assert json.loads(json.dumps(data)) == data
    assert json.loads(Read(page(data)).data) == data


@given(ANY_JSON)
def test_any_json_comes_back_and_means_nothing_to_html(data):
    text = html_json(data)
    assert json.loads(text) == data
    assert not re.search("[<>&\u2028\u2029\ud800-\udfff]", text)


def test_hostile_tokens_add_no_element(house):
    tame, wild = Read(page(to_json([house]))), Read(page(to_json([hostile()]), title="</title><img src=x onerror=1>"))
    assert [tag for tag, _ in wild.elements] == [tag for tag, _ in tame.elements]
    assert wild.all("img") == []


def test_a_page_with_hostile_texts_can_be_written():
    written = page(to_json([hostile()]), title="\ud800").encode("utf-8")
    assert "<title>⟨U+D800⟩</title>" in written.decode("utf-8")


def test_nothing_is_asked_for_outside(house):
    text = page(to_json([house]))
    assert set(re.findall(r"\w+://[^\s\"';]+", text)) == {SVG}
    for _, attributes in Read(text).elements:
        assert not {"src", "srcset", "action", "style"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)
    (icon,) = (link["href"] for link in Read(text).all("link"))
    assert icon.startswith("data:image/svg+xml,")
    assert not re.search(r"@import|url\(|\bfetch\(|XMLHttpRequest|WebSocket|sendBeacon|innerHTML|\beval\(", text)


def test_only_the_nonce_may_run(house):
    first, second = (Read(page(to_json([house]))) for _ in range(2))
    (policy,) = [meta["content"] for meta in first.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    (nonce,) = {script["nonce"] for script in first.all("script") if "type" not in script}
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == f"'nonce-{nonce}'"
    assert first.all("style") == [{"nonce": nonce}]
    assert len(nonce) >= 24
    assert nonce not in {script.get("nonce") for script in second.all("script")}


def test_the_colours_and_the_flags_agree_on_what_is_unsure():
    static = files("regard.explain") / "static"
    assert f'value >= {UNSURE_BELOW} ? "fair" : "poor"' in (static / "data.js").read_text("utf-8")
    strings = (static / "strings.js").read_text("utf-8")
    assert strings.count(f"under {UNSURE_BELOW:.0%}") == strings.count(f"低于 {UNSURE_BELOW:.0%}") == 1


def test_every_script_is_on_the_page():
    there = {each.name for each in (files("regard.explain") / "static").iterdir() if each.name.endswith(".js")}
    script = bundle("page.js")
    bundled = f"{script}\n{bundle('phrases.js')}"  # the one of reports' pages
    assert {f"{name}.js" for name in re.findall(r"^const \$(\w+) = ", bundled, re.MULTILINE)} == there
    assert not re.search("^(import|export) ", script, re.MULTILINE)
    assert "{{" not in page(to_json([]))


def test_a_bundle_needs_nothing_before_it_is_there():
    script = bundle("page.js")
    for name, needed in re.findall(r"^const \{([^}]+)\} = (\$\w+);$", script, re.MULTILINE):
        scope = script.index(f"const {needed} = ")
        assert scope < script.index(f"const {{{name}}} = {needed};")
        given = re.compile(r"return \{ ([^}]*) \};\n\}\)\(\);").search(script, scope)
        assert given is not None
        assert {each.strip() for each in name.split(",")} <= {each.strip() for each in given[1].split(",")}


@pytest.mark.parametrize(("language", "told"), [("en", "en"), ("zh", "zh"), (None, "")])
def test_the_language_is_left_to_the_reader_unless_given(language, told):
    (root,) = Read(page(to_json([]), language=language)).all("html")
    assert root["data-language"] == told


def test_faults_are_told():
    with pytest.raises(RegardError, match="no language 'de'"):
        page(to_json([]), language="de")
    for wrong in ({"x": float("nan")}, {"x": {1, 2}}):
        with pytest.raises(RegardError, match="not JSON"):
            page(wrong)


def test_a_fragment_is_the_page_in_a_frame_that_reaches_nothing():
    ((tag, frame),) = Read(fragment(to_json([hostile()]), title='"><script>', height=300)).elements
    assert tag == "iframe"
    assert frame["title"] == '"><script>'
    assert "allow-same-origin" not in str(frame["sandbox"])
    assert "height:300px" in str(frame["style"])
    assert json.loads(Read(str(frame["srcdoc"])).data) == to_json([hostile()])


def keys_of(language: str) -> list[str]:
    """The names of the texts of a language, as the script has them."""
    script = (files("regard.explain") / "static" / "strings.js").read_text(encoding="utf-8")
    start = script.index(f"  {language}: {{\n")
    bare = re.sub(r'"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`', "", script[start : script.index("\n  },\n", start)])
    found, depth = list[str](), 0
    for match in re.finditer(r"[{}]|(\w+):", bare):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if match[1] and depth == 1:
            found.append(match[1])
    return found


def test_no_text_hides_another_and_both_languages_have_all():
    english, chinese = keys_of("en"), keys_of("zh")
    assert len(english) > 80
    assert sorted({*english}) == sorted(english)
    assert sorted(chinese) == sorted(english)
