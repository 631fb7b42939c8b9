"""Debian's chromium opened by playwright, and a tab that remembers all that it did that it should not."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

PATIENCE = 1000 * int(os.environ.get("REGARD_PATIENCE", "30"))  # milliseconds; a machine may be busy with other things
NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser; the test is skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    program = os.environ.get("REGARD_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("this test needs a browser: apt-get install chromium")
    playwright.expect.set_options(timeout=PATIENCE)
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


class Visit:
    """One tab. `faults` holds console messages, errors, dialogs and requests beyond what `allowed` begins with.

    `before` is a script that runs before those of the page.
    """

    def __init__(
        self, browser: Any, address: str, *, allowed: tuple[str, ...] = (), before: str = "", **settings: Any
    ) -> None:
        self.faults: list[str] = []
        self.allowed = ("file:", "data:", "blob:", "about:", *allowed)
        self.context = browser.new_context(**{"locale": "en-GB", **settings})
        if before:
            self.context.add_init_script(before)
        self.tab = self.context.new_page()
        self.tab.set_default_timeout(PATIENCE)
        self.tab.on("console", lambda told: self.faults.append(told.text))
        self.tab.on("pageerror", lambda error: self.faults.append(str(error)))
        self.tab.on("dialog", self._dialog)
        self.context.on("request", lambda request: self._asked(request.url))
        self.tab.goto(address)

    def all(self, selector: str) -> Any:
        return self.tab.locator(selector)

    def texts(self, selector: str) -> list[str]:
        return [text.strip() for text in self.all(selector).all_inner_texts()]

    def saved(self, name: str) -> bytes:
        """The content of the file that an entry of the menu saves."""
        self.tab.locator(".menu:visible summary").first.click()
        with self.tab.expect_download() as waited:
            self.tab.get_by_role("button", name=name, exact=True).first.click()
        return waited.value.path().read_bytes()

    def _asked(self, url: str) -> None:
        if not url.startswith(self.allowed):
            self.faults.append(f"asked for {url}")

    def _dialog(self, dialog: Any) -> None:
        self.faults.append(f"dialog {dialog.message}")
        dialog.dismiss()
