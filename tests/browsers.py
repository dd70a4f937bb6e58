"""A real Chromium, driven by Playwright: what a person sees, and every request and complaint that
the page causes.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

PROGRAM = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
# A sandbox needs a user who is not root; the others keep the browser from talking to anybody by
# itself.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for all tests of a module. It must be there: a page that nobody opened is not
    tested. Playwright keeps an event loop running while it is open, and other tests need to run
    theirs.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=list(FLAGS))
        yield browser
        browser.close()


PATIENCE = 60.0
"""Seconds; on a busy machine a page takes its time, and nothing here is about speed."""
expect.set_options(timeout=1000 * PATIENCE)


def until(page: Page, condition: str) -> None:
    """Wait for a condition of the page. Playwright's own waiting evaluates it inside the page,
    which forbids that.
    """
    deadline = time.monotonic() + PATIENCE
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, condition
        page.wait_for_timeout(20)


class Sight:
    """A page under watch: `asked` are the addresses it requested, `said` its console lines and
    errors.
    """

    def __init__(self, context: BrowserContext) -> None:
        self.page: Page = context.new_page()
        self.page.set_default_timeout(1000 * PATIENCE)
        self.asked: list[str] = []
        self.said: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda line: self.said.append(f"{line.type}: {line.text}"))
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.page.on("dialog", lambda box: self.said.append(f"dialog: {box.message}"))

    def drawn(self) -> Page:
        """The page once its map is drawn."""
        until(self.page, "Number(document.getElementById('map').dataset.cells) > 0")
        return self.page


@contextmanager
def watching(
    browser: Browser,
    *,
    scheme: Literal["light", "dark"] = "light",
    width: int = 1280,
    height: int = 900,
) -> Iterator[Sight]:
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": height})
    try:
        yield Sight(context)
    finally:
        context.close()
