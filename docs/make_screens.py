"""Make the pictures of the report page in Chromium: python docs/make_screens.py DIR packs DIR and
looks.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from playwright.sync_api import Browser, Page, sync_playwright

HERE = os.path.dirname(os.path.abspath(__file__))
GOAL = "`sutler pack` must refuse a budget that its own frame does not fit in; see src/sutler/budget/fit.py"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
]


def sutler(folder: str, *words: str) -> None:
    subprocess.run([sys.executable, "-m", "sutler", *words], cwd=folder, check=True)


def opened(browser: Browser, file: str, scheme: str, height: int) -> Page:
    page = browser.new_page(
        color_scheme="dark" if scheme == "dark" else "light",
        viewport={"width": 1280, "height": height},
    )
    page.goto(f"file://{file}")
    page.wait_for_function("Number(document.getElementById('map').dataset.cells) > 0")
    return page


def taken(page: Page, name: str) -> None:
    page.wait_for_timeout(300)
    page.screenshot(path=os.path.join(HERE, name))
    page.close()


def main(folder: str) -> None:
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        whole, task = (os.path.join(place, name) for name in ("whole.html", "task.html"))
        old, new = (os.path.join(place, name) for name in ("old.md", "new.md"))
        sutler(folder, "pack", "--max-tokens", "120k", "-o", old, "--report", whole)
        sutler(
            folder,
            "pack",
            "--max-tokens",
            "60k",
            "--goal",
            GOAL,
            "--fill",
            "-o",
            new,
            "--report",
            task,
        )
        sutler(folder, "report", new, "--against", old, "-o", os.path.join(place, "both.html"))
        program = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        taken(opened(browser, whole, "light", 1180), "report-light.png")
        taken(opened(browser, task, "dark", 1180), "report-dark.png")
        page = opened(browser, task, "light", 900)
        page.locator("#pane-files .row").first.click()
        taken(page, "report-file.png")
        page = opened(browser, os.path.join(place, "both.html"), "light", 1000)
        page.locator("#tab-compare").click()
        page.locator("#tabs").scroll_into_view_if_needed()
        page.evaluate("scrollTo(0, document.getElementById('tabs').offsetTop - 30)")
        taken(page, "report-compare.png")
        browser.close()


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
