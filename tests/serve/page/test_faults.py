"""What goes wrong, and what is left on the page then: in the page's own words, in both languages."""

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

TOLD = {  # by what the server says: status, a piece of the page's words in English and in Chinese, whether to try again
    "Invalid request: request (9000) exceeds text limit (5000)": (400, "has 9000 characters", "9000 个字符", False),
    "Invalid request: text 1 has 9000 characters, more than this server takes: 70": (
        400, "has 9000 characters; the limit of this server is 70", "9000 个字符", False),
    "Invalid request: request (900) exceeds text limit (512)": (400, "900 pieces", "900 个子词", False),
    "English (en) is not available as a target language from Chinese (zh-Hans)": (
        400, "translates from Simplified Chinese into English", "译成英语的模型", False,
    ),
    "Invalid API key": (403, "API key is not valid", "此 API 密钥无效", False),
    "Please contact the server operator to get an API key": (400, "needs an API key", "需要 API 密钥", False),
    "Too many request limits violations": (403, "has blocked you", "不再响应", False),
    "text 1 does not fit into memory": (413, "too little memory", "内存不足", False),
    "Invalid request: q: what else": (400, "rejected the request: q: what else", "拒绝了此请求：q: what else", False),
    "Slowdown: 5 per 1 minute": (429, "Too many requests", "过于频繁", True),
    "request timed out in the queue": (503, "overloaded", "太忙", True),
    "Internal server error": (500, "could not process this text", "未能处理", True),
}  # fmt: skip
EXPLAINED = """async ([message, status, language]) => {
    const [{ explained }, { Refused }, { TEXTS }, { speaker }] = await Promise.all(
        ["faults", "api", "texts", "explain/strings"].map((name) => import(`./static/${name}.js`)));
    const name = (code) => new Intl.DisplayNames([language], { type: "language" }).of(code);
    const about = { t: speaker(language, TEXTS), name, limit: 5000 };
    const told = explained(new Refused("refused", { message, status }), about);
    return [told.text, told.again, told.link];
}"""


def alert(page):
    return page.tab.get_by_role("alert").locator("#fault-text")


def test_every_refusal_in_the_words_of_the_page(visit):
    page = visit()
    for message, (status, english, chinese, again) in TOLD.items():
        for language, words in (("en", english), ("zh", chinese)):
            text, may_help, link = page.tab.evaluate(EXPLAINED, [message, status, language])
            assert words in text
            assert (may_help, link) == (again, None)
            assert "Invalid request" not in text


@pytest.mark.parametrize("how", ["mouse", "keyboard"])
def test_after_a_fault_no_earlier_translation_stands_beside_the_text(visit, server, how):
    page = visit(refused=True, permissions=["clipboard-read", "clipboard-write"])
    page.write()
    page.button("Copy").click()
    server.refusals = [(500, {}, "Internal server error")]
    page.field.fill("das Haus")
    expect(alert(page)).to_contain_text("The server could not process this text.")
    expect(page.output).to_be_empty()
    expect(page.output).to_have_attribute("aria-busy", "false")
    for name in ("Copy", "Share", "Plot (SVG)"):
        expect(page.button(name)).to_be_hidden()
    page.tab.evaluate("navigator.clipboard.writeText('mine')")
    page.tab.keyboard.press("Control+Shift+C")
    page.tab.wait_for_timeout(100)
    assert page.tab.evaluate("navigator.clipboard.readText()") == "mine"
    again = page.button("Try again")
    again.click() if how == "mouse" else again.press("Enter")
    expect(page.output).to_have_text("the house")
    expect(page.button("Copy")).to_be_visible()


def test_when_the_first_request_fails_there_is_nothing_to_look_at(visit, server):
    page = visit(refused=True)
    server.refusals = [(400, {}, "no")]
    page.field.fill("Haus")
    expect(alert(page)).to_have_text("The server rejected the request: no")
    expect(page.tab.locator(".place:visible")).to_have_count(0)
    expect(page.button("Try again")).to_be_hidden()


def test_a_text_that_is_too_long_is_not_sent(visit, server):
    page = visit()
    page.write("das Haus")
    asked = len(server.asked)
    page.field.fill("Haus " * 1200)
    expect(alert(page)).to_have_text("This text has 6000 characters; the limit of this server is 5000.")
    expect(page.button("Try again")).to_be_hidden()
    page.button("中文").click()
    expect(alert(page)).to_have_text("文字有 6000 个字符；此服务器最多接收 5000 个。")
    page.tab.wait_for_timeout(400)
    assert len(server.asked) == asked
    page.tab.locator("#text").fill("Haus")
    expect(page.tab.locator(".output").first).to_have_text("house")
    expect(alert(page)).to_be_hidden()


@pytest.mark.parametrize(
    ("fragment", "told"),
    [
        ("#source=zh&target=en&q=Hund", "from Chinese into English"),
        ("#source=xx&target=yy&q=Hund", "from xx into yy"),
        ("#target=<b>&q=Hund", "translates into <b>"),
        ("#source=zh&q=Hund", "from Chinese."),
    ],
)
def test_a_link_to_languages_that_are_not_served_says_so(visit, server, fragment, told):
    page = visit(fragment)
    expect(alert(page)).to_contain_text(told)
    expect(page.button("Try again")).to_be_hidden()
    for name in ("#source", "#target"):
        assert page.tab.locator(name).evaluate("each => each.selectedOptions[0].textContent")
    expect(page.field).to_have_value("Hund")
    page.tab.wait_for_timeout(400)
    assert server.asked == []
    page.tab.locator("#source").focus()
    page.tab.keyboard.type("German")  # as one chooses by keyboard
    page.tab.locator("#target").select_option("en")
    expect(page.output).to_have_text("Hund")
    expect(alert(page)).to_be_hidden()


def test_the_key_stays_as_long_as_the_tab(visit, server):
    server.key = "secret"
    page = visit("#source=de&target=en&q=Haus", refused=True)
    expect(alert(page)).to_contain_text("This API key is not valid.")
    expect(page.button("Try again")).to_be_hidden()
    page.give_key("secret")
    expect(page.output).to_have_text("house")
    page.tab.reload()
    expect(page.output).to_have_text("house")
    assert page.tab.evaluate("[...Object.values(localStorage)].join().includes('secret')") is False
    other = page.context.new_page()
    other.goto(server.address)
    other.get_by_role("button", name="Key", exact=True).click()
    assert other.locator("#key").input_value() == ""
    page.give_key("")
    page.tab.reload()
    page.button("Key").click()
    assert page.tab.locator("#key").input_value() == ""


def test_the_dialog_of_the_key_can_be_left_and_keeps_nobody_out(visit, server, serious):
    server.key = "secret"
    page = visit("#source=de&target=en&q=Haus", refused=True)
    expect(alert(page)).to_be_visible()
    asked = len(server.asked)
    page.button("Key").press("Enter")
    field = page.tab.locator("#key")
    expect(field).to_be_focused()
    assert (field.get_attribute("type"), field.get_attribute("autocomplete")) == ("password", "off")
    assert serious(page) == []
    field.fill("wrong")
    page.tab.keyboard.press("Escape")
    expect(field).to_be_hidden()
    expect(page.button("Key")).to_be_focused()
    assert (field.input_value(), len(server.asked)) == ("", asked)


def test_where_a_key_can_be_had_is_a_link_and_nobody_asks_twice_without_one(visit, server):
    server.refusals = [(400, {}, "Visit https://keys.example/get?a=1 to get an API key")]
    page = visit("#source=de&target=en&q=Haus", refused=True)
    expect(alert(page)).to_contain_text("This server needs an API key.")
    link = alert(page).get_by_role("link")
    expect(link).to_have_attribute("href", "https://keys.example/get?a=1")
    expect(link).to_have_attribute("rel", "noopener noreferrer")
    page.field.fill("das Haus")
    page.tab.wait_for_timeout(500)
    assert len(server.asked) == 1


@pytest.mark.parametrize("address", ["javascript:alert(1)", "data:text/html,x", "//evil.example"])
def test_only_an_address_of_the_web_is_a_link(visit, server, address):
    server.refusals = [(400, {}, f"Visit {address} to get an API key")]
    page = visit("#source=de&target=en&q=Haus", refused=True)
    expect(alert(page)).to_contain_text("This server needs an API key.")
    expect(alert(page).get_by_role("link")).to_have_count(0)
