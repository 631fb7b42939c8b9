"""Writing, languages, models, links and faults, by mouse and by keyboard."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

BUSY = (429, {"Retry-After": "1"}, "Slowdown: server busy, retry in 1 seconds")


def chosen(page, name: str):
    return page.tab.get_by_role("combobox", name=name)


def test_it_translates_while_one_types(visit, server):
    page = visit()
    page.field.press_sequentially("das Haus", delay=10)
    expect(page.output).to_have_text("the house")
    (path, body), *_ = server.asked
    assert path == "/v1/translate"
    assert body == {"q": "das Haus", "source": "de", "target": "en", "model": "plain", "n_best": 5, "explain": True}


def test_of_thirty_quick_edits_only_the_last_shows(visit, server):
    server.pause = lambda text: 0.4 / len(text.split())  # the earlier a text, the later its answer
    page = visit()
    seen = page.tab.evaluate("""() => {
        const output = document.querySelector(".output"), seen = [];
        new MutationObserver(() => seen.push(output.textContent)).observe(output, { childList: true, subtree: true });
        globalThis.seen = seen;
    }""")
    for count in range(1, 31):
        page.field.fill(" ".join(["Haus"] * count))
        page.tab.keyboard.press("Control+Enter")  # asks at once
    expect(page.output).to_have_text(" ".join(["house"] * 30))
    page.tab.wait_for_timeout(600)
    expect(page.output).to_have_text(" ".join(["house"] * 30))
    seen = page.tab.evaluate("globalThis.seen.filter((text) => text)")
    counts = [len(text.split()) for text in seen]
    assert counts == sorted(counts)  # nothing older came after something newer


def test_a_busy_server_is_waited_for(visit, server):
    page = visit(refused=True)
    server.refusals = [BUSY, (503, {"Retry-After": "1"}, "loading")]
    page.field.fill("Haus")
    expect(page.tab.get_by_role("alert")).to_contain_text("The server is busy. Trying again in 1 s.")
    expect(page.output).to_have_text("house")
    expect(page.tab.get_by_role("alert")).to_be_hidden()


def test_one_may_type_while_the_server_is_loading(visit, server):
    server.loading = True
    page = visit(refused=True, ready=False)
    alert = page.tab.get_by_role("alert")
    expect(alert).to_contain_text("The models are loading. Trying again in 1 s.")
    page.field.press_sequentially("das Haus", delay=10)
    page.tab.keyboard.press("Control+Enter")
    expect(alert).to_contain_text("The models are loading. Trying again in 1 s.")
    page.button("Try again").click()
    page.button("Try again").click()
    server.loading = False
    expect(page.output).to_have_text("the house")
    expect(alert).to_be_hidden()
    page.button("Swap the languages").click()  # once, however often it was tried
    expect(chosen(page, "Translate from")).to_have_value("en")
    expect(page.field).to_have_value("the house")
    expect(page.output).to_have_text("das Haus")
    page.tab.wait_for_timeout(1500)
    assert [server.looked.count(path) for path in ("/languages", "/v1/models")] in ([2, 2], [3, 3], [4, 4])


@pytest.mark.parametrize(
    ("locale", "line"),
    [("en-GB", "The models are loading. Trying again in 1 s."), ("zh-CN", "模型正在加载，1 秒后重试。")],
)
def test_the_page_of_a_loading_server_has_one_pane_and_nothing_to_compare(visit, server, locale, line):
    server.loading = True
    page = visit(refused=True, ready=False, locale=locale)
    expect(page.tab.get_by_role("alert")).to_contain_text(line)
    assert page.tab.locator(".translation:visible").count() == 1
    expect(page.tab.locator("#compare")).to_be_hidden()
    server.loading = False
    page.tab.locator("#text").fill("das Haus")
    expect(page.tab.locator(".output").first).to_have_text("the house")
    assert page.tab.locator(".translation:visible").count() == 1
    expect(page.tab.locator("#compare")).to_be_visible()  # `plain` and `mirror` translate from German


def test_nobody_waits_for_ever(visit, server):
    """Until so many seconds are over; then the last refusal is told."""
    page = visit(refused=True)
    found = page.tab.evaluate("""async () => {
        const { patiently, Refused } = await import("./static/api.js");
        const refusal = new Refused("refused", { message: "no", status: 503, wait: 1 });
        const told = [];
        let tries = 0;
        const question = async () => { tries++; throw refusal; };
        const waiting = (fault) => told.push(fault.key, ...fault.values());
        const fault = await patiently(question, new AbortController().signal, waiting, 2.5)
            .catch((error) => error);
        return [fault === refusal, tries, told];
    }""")
    assert found == [True, 3, ["busy", 1, "busy", 1]]


def test_what_would_not_help_another_time_is_not_asked_again(visit, server):
    page = visit(refused=True)
    server.refusals = [(413, {}, "text 1 does not fit into memory")]
    page.field.fill("Haus")
    expect(page.tab.get_by_role("alert")).to_contain_text("The server has too little memory for so long a text.")
    page.tab.wait_for_timeout(1500)
    assert len(server.asked) == 1


def test_a_dead_server_is_told_and_asked_again(visit, server):
    page = visit(refused=True)
    server.stop()
    page.field.fill("Haus")
    expect(page.tab.get_by_role("alert")).to_contain_text("The server does not respond. Is it still running?")
    expect(page.button("Try again")).to_be_visible()
    again = type(server)(int(server.address.rsplit(":", 1)[1].strip("/")))
    page.button("Try again").click()
    expect(page.output).to_have_text("house")
    again.stop()


def test_the_languages_can_be_swapped(visit):
    page = visit()
    page.write()
    page.button("Swap the languages").click()
    expect(page.field).to_have_value("the old house is small")
    expect(page.output).to_have_text("das alte Haus ist klein")
    page.tab.keyboard.press("Control+Shift+S")
    expect(page.output).to_have_text("the old house is small")
    expect(chosen(page, "Translate from")).to_have_value("de")


def test_a_pair_that_has_no_way_back_cannot_be_swapped(visit):
    page = visit("#source=en&target=zh&q=the+house")
    expect(page.output).to_have_text("这 房子")
    expect(page.button("Swap the languages")).to_be_disabled()


def test_the_language_is_detected(visit):
    page = visit()
    chosen(page, "Translate from").select_option("auto")
    page.write("das Haus")
    expect(page.tab.get_by_text("Detected: German, 90%")).to_be_visible()
    expect(page.button("Swap the languages")).to_be_enabled()
    expect(chosen(page, "Model").locator("option")).to_have_text(["plain", "mirror"])


def test_languages_are_remembered(visit):
    page = visit()
    page.write()
    chosen(page, "Translate from").select_option("en")
    chosen(page, "Translate to").select_option("ar")
    page.write("the book")
    expect(page.output).to_have_text("ال كتاب")  # or it is asked for still, and what was used last is another pair
    page.tab.reload()
    expect(chosen(page, "Translate from")).to_have_value("en")
    expect(chosen(page, "Translate to")).to_have_value("ar")
    page.button("German → English").click()
    expect(chosen(page, "Translate from")).to_have_value("de")


def test_a_link_holds_the_text(visit):
    page = visit(permissions=["clipboard-read", "clipboard-write"])
    page.write()
    page.button("Share").click()
    expect(page.tab.get_by_text("The link has been copied")).to_be_visible()
    address = page.tab.evaluate("navigator.clipboard.readText()")
    assert address.endswith("#source=de&target=en&model=plain&q=das+alte+Haus+ist+klein")
    other = visit(address[address.index("#") :])
    expect(other.output).to_have_text("the old house is small")


def test_copy_and_clear(visit):
    page = visit(permissions=["clipboard-read", "clipboard-write"])
    page.write()
    page.button("Copy").click()
    assert page.tab.evaluate("navigator.clipboard.readText()") == "the old house is small"
    page.write("das Haus")
    expect(page.output).to_have_text("the house")
    page.tab.keyboard.press("Control+Shift+C")
    expect(page.tab.get_by_text("Copied.")).to_be_visible()
    assert page.tab.evaluate("navigator.clipboard.readText()") == "the house"
    page.button("Clear").click()
    expect(page.field).to_be_focused()
    expect(page.output).to_be_empty()
    expect(page.tab.locator("#viewers")).to_be_hidden()
    page.write("das Haus")
    page.tab.keyboard.press("Control+Shift+X")
    expect(page.field).to_have_value("")


def test_two_models_side_by_side(visit):
    page = visit()
    page.write()
    page.button("Compare").press("Enter")
    expect(page.tab.locator(".output")).to_have_text(["the old house is small", "small is house old the"])
    page.button("Share").click()
    address = page.tab.evaluate("location.href")
    other = visit(address[address.index("#") :])
    expect(other.tab.locator(".output")).to_have_text(["the old house is small", "small is house old the"])
    expect(other.button("Compare")).to_have_attribute("aria-pressed", "true")
    tops = [page.tab.locator(".place").nth(at).bounding_box()["y"] for at in (0, 1)]
    assert tops[0] == tops[1]
    expect(page.tab.locator(".looked-at")).to_have_text(["plain", "mirror"])
    page.button("Compare").click()
    expect(page.tab.locator(".output:visible")).to_have_count(1)


def test_another_model(visit):
    page = visit()
    page.write()
    chosen(page, "Model").select_option("mirror")
    expect(page.output).to_have_text("small is house old the")


def test_the_help_of_the_keyboard(visit):
    page = visit()
    dialog = page.tab.get_by_role("dialog", name="Keyboard shortcuts")
    page.button("Keyboard shortcuts").click()
    expect(dialog).to_contain_text("Swap the languages")
    page.button("Close").click()
    expect(dialog).to_be_hidden()
    page.button("Theme: system").focus()
    page.tab.keyboard.press("?")
    expect(dialog).to_be_visible()
    page.tab.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.tab.keyboard.press("/")
    expect(page.field).to_be_focused()
    page.tab.keyboard.type("?/[")  # in a text these are letters
    expect(page.field).to_have_value("?/[")


def test_a_key_is_asked_for_and_sent(visit, server):
    server.key = "secret"
    page = visit(refused=True)
    page.field.fill("Haus")
    expect(page.tab.get_by_role("alert")).to_contain_text("API key is not valid")
    page.give_key("secret")
    expect(page.output).to_have_text("house")


def test_two_languages_and_three_themes(visit):
    page = visit()
    page.button("中文").click()
    expect(page.tab.get_by_role("button", name="比较")).to_be_visible()
    expect(page.tab.locator("html")).to_have_attribute("lang", "zh-CN")
    assert page.texts("#source option")[1] != "German"
    page.tab.reload()
    page.tab.get_by_role("button", name="EN", exact=True).click()
    for theme in ("light", "dark", "auto"):
        page.tab.get_by_role("button", name=re.compile("^Theme")).press("Enter")
        expect(page.tab.locator("html")).to_have_attribute("data-theme", theme)


def test_the_first_answer_is_quick(visit):
    page = visit()
    page.field.fill("Haus")
    page.tab.keyboard.press("Control+Enter")
    expect(page.output).to_have_text("house", timeout=1000)
