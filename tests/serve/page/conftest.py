"""The served page in a real browser, before a server whose every answer is known."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from browsing import Visit, chromium
from fake_api import FakeServer

WHY = "sessionStorage['regard.why'] ??= 'open'"  # most tests look behind it
SENTENCE = "das alte Haus ist klein"


@pytest.fixture(scope="module")  # not longer: playwright knows one driver at a time
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def server() -> Iterator[FakeServer]:
    started = FakeServer()
    yield started
    if started.thread.is_alive():
        started.stop()


@pytest.fixture(scope="session")
def serious() -> Callable[[Any], list[str]]:
    """What axe finds on a page that keeps somebody out."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")

    def found(page: Any) -> list[str]:
        faults = axe.Axe().run(page.tab).response["violations"]
        return [f"{one['id']}: {one['nodes'][0]['html']}" for one in faults if one["impact"] in ("serious", "critical")]

    return found


class Page(Visit):
    """The page with the names of what stands on it."""

    def write(self, text: str = SENTENCE) -> None:
        """Writes a text and waits until its first words are explained."""
        self.field.fill(text)
        self.tab.locator(".place:visible .queries .token").first.wait_for()

    @property
    def field(self) -> Any:
        return self.tab.get_by_role("textbox", name="Text to translate")

    @property
    def output(self) -> Any:
        return self.tab.get_by_label("Translation", exact=True).first

    @property
    def view(self) -> Any:
        """What the first model looked at."""
        return self.tab.locator(".place").first

    @property
    def lit(self) -> Any:
        """The words of the source that are lit."""
        return self.tab.locator("#mirror mark")

    def button(self, name: str, at: int = 0) -> Any:
        return self.tab.get_by_role("button", name=name, exact=True).nth(at)

    def give_key(self, key: str) -> None:
        """Writes a key into the dialog for it."""
        self.button("Key").click()
        self.tab.get_by_label("API key").and_(self.tab.locator("input")).fill(key)
        self.tab.keyboard.press("Enter")

    def word(self, side: str, word: str) -> Any:
        """A word of the lines below: of the group Source or Translation."""
        return self.view.get_by_role("group", name=side, exact=True).first.get_by_role("button", name=word, exact=True)

    def explained(self) -> None:
        """Waits until the maps have come."""
        self.tab.get_by_role("button", name="Layer 1, head 1", exact=True).first.wait_for()


@pytest.fixture
def visit(browser: Any, server: FakeServer) -> Iterator[Any]:
    """Opens the page; at the end nothing may have been asked for outside, and the console must be silent.

    A browser tells of every refusal on its console; `refused` says that a test makes some. A page is ready when it
    knows what the server has. `closed` leaves "Why?" as a visitor finds it.
    """
    visits: list[tuple[Page, bool]] = []

    def open_page(
        fragment: str = "", *, refused: bool = False, ready: bool = True, closed: bool = False, **settings: Any
    ) -> Page:
        before = "" if closed else WHY
        opened = Page(browser, server.address + fragment, allowed=(server.address,), before=before, **settings)
        visits.append((opened, refused))
        if ready:
            visits[-1][0].tab.locator("#target option").first.wait_for(state="attached")
        return visits[-1][0]

    yield open_page
    faults = [
        fault
        for page, refused in visits
        for fault in page.faults
        if not (refused and "Failed to load resource" in fault)
    ]
    for page, _ in visits:
        page.context.close()
    assert faults == []
