"""Two hundred hostile texts in every place that shows a text: none of them runs, all of them are read."""

from itertools import product

import pytest
from fake_api import explained
from playwright.sync_api import expect

from regard.explain import fragment, to_json
from regard.explain import page as written

pytestmark = pytest.mark.slow

# Without spaces, since a space ends a word; `alert` would open a dialog, which every tab reports.
RUNS = [
    "<script>alert(1)</script>", "<img/src=x/onerror=alert(2)>", "<svg/onload=alert(3)>",
    "<svg><script>alert(4)</script></svg>", "<iframe/src=javascript:alert(5)>",
    "<iframe/srcdoc=<script>alert(6)</script>>", "<body/onload=alert(7)>", "<a/href=javascript:alert(8)>x</a>",
    "<details/open/ontoggle=alert(9)>", "<input/autofocus/onfocus=alert(10)>",
    "<video><source/onerror=alert(11)></video>", "<math><mtext></mtext><script>alert(12)</script></math>",
    "<style>@import'//evil.example'</style>", "<link/rel=stylesheet/href=//evil.example>",
    "<base/href=//evil.example/>", "<meta/http-equiv=refresh/content=0;url=//evil.example>",
    "<form/action=//evil.example><button>x</button></form>", "<object/data=//evil.example></object>",
    "<embed/src=//evil.example>", "<!--<script>alert(20)</script>-->", "javascript:alert(21)", "{{script}}",
    "{{nonce}}", "${alert(24)}", "<%=alert(25)%>",
]  # fmt: skip
WRAPS = [
    "{}",
    "</script>{}",
    "</title></style></textarea>{}",
    "\"'>{}",
    "]]>{}",
    "--!>{}",
    "x\u2028\u202e{}",
    "&lt;{}\U0001f600",
]
HOSTILE = [wrap.format(text) for wrap, text in product(WRAPS, RUNS)]


@pytest.fixture(scope="module")
def predictions():
    """Eight predictions with 25 hostile words each, on both sides."""
    texts = [" ".join(HOSTILE[start : start + 25]) for start in range(0, len(HOSTILE), 25)]
    return [explained(text, text, "plain", maps=True) for text in texts]


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a document from disk and looks at all it did."""
    from browsing import Visit

    visits = []

    def open_file(content: str | bytes, name: str):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        visits.append(Visit(browser, path.as_uri()))
        visits[-1].tab.wait_for_timeout(200)
        return visits[-1]

    yield open_file
    assert [fault for each in visits for fault in each.faults] == []
    for each in visits:
        each.context.close()


def walk(frame, sentences: int) -> list[str]:
    """The words of every sentence, after all that shows them was opened."""
    words = []
    frame.locator(".map-card summary").click()
    for at in range(sentences):
        frame.locator("nav button").nth(at).click()
        frame.locator(".queries .token").first.hover()
        words += [text.strip() for text in frame.locator(".queries .token").all_inner_texts()]
    return words


def seen(texts: list[str]) -> list[str]:
    """As a person sees them: what hides is a glyph."""
    return [text.replace("\u2028", "⟨U+2028⟩").replace("\u202e", "⟨U+202E⟩") for text in texts]


def test_there_are_two_hundred():
    assert len(set(HOSTILE)) == 200


def test_the_page_of_a_prediction(opened, predictions):
    visit = opened(written(to_json(predictions), title=HOSTILE[0]), "page.html")
    assert walk(visit.tab, len(predictions)) == seen(HOSTILE)


def test_a_notebook(opened, predictions):
    visit = opened(
        f"<!doctype html><meta charset='utf-8'><body>{fragment(to_json(predictions), title=HOSTILE[27])}",
        "notebook.html",
    )
    assert walk(visit.tab.frame_locator("iframe"), len(predictions)) == seen(HOSTILE)


def test_the_served_page_and_what_it_saves(visit, opened):
    page = visit()
    for start in range(0, len(HOSTILE), 25):
        words = HOSTILE[start : start + 25]
        page.field.fill(" ".join(words))
        expect(page.view.locator(".queries .token")).to_have_text(seen(words))
        page.explained()
        page.view.locator(".queries .token").first.click()
        assert page.output.evaluate("output => output.textContent") == " ".join(words)
        for kind in ("HTML", "SVG"):
            saved = page.saved("Stand-alone page (HTML)" if kind == "HTML" else "Plot (SVG)")
            file = opened(saved, f"saved{start}.{kind.lower()}")
            shown = [
                text.strip() for text in file.all(".queries .token" if kind == "HTML" else "title").all_text_contents()
            ]
            assert len(shown) == (25 if kind == "HTML" else 626)
        opened(page.saved("Words (SVG)"), f"words{start}.svg")


def test_a_link_with_hostile_text_runs_nothing(visit):
    page = visit("#source=de&target=en&q=" + "%3Cscript%3Ealert(1)%3C/script%3E%3Cimg/src=x/onerror=alert(2)%3E")
    expect(page.output).to_have_text("<script>alert(1)</script><img/src=x/onerror=alert(2)>")


def test_hostile_words_of_the_server_run_nothing(visit, server):
    server.refusals = [(400, {}, HOSTILE[1])]
    page = visit(refused=True)
    page.field.fill("Haus")
    expect(page.tab.get_by_role("alert")).to_contain_text(HOSTILE[1])


def test_hostile_things_kept_in_the_browser_run_nothing(visit):
    page = visit()
    for key, value in {
        "recent": '["<img src=x onerror=alert(1)>", 3]',
        "pair": "{",
        "language": "<b>",
        "theme": "x",
    }.items():
        page.tab.evaluate("([key, value]) => localStorage.setItem(`regard.${key}`, value)", [key, value])
    page.tab.reload()
    page.write()
    expect(page.output).to_have_text("the old house is small")
