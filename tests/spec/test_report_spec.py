"""The report in a real browser: what is drawn, what it adds up to, what it refuses to do."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Position, expect

from tests.browsers import Sight, until, watching
from tests.conftest import Plant, Sutler, grow
from tests.limits import LIMIT

SECRET = "ghp_" + "Aa1Bb2Cc3Dd4Ee5Ff6Gg7Hh8Ii9Jj0Kk1Ll2"  # no token of anybody
TREE = {
    "README.md": "# Cart\n\nA cart with wheels.\n",
    "pyproject.toml": "[project]\nname = 'cart'\n",
    ".gitignore": "*.noise\n",
    "trace.noise": "noise\n",
    "src": {
        "cart.py": "class Cart:\n    def roll(self) -> int:\n        return 4\n" + "# wheel\n" * 80,
        "axle.py": "AXLES = 2\n",
        "long.py": "".join(f"value_{number} = {number}\n" for number in range(4_000)),
        "keys.py": f"TOKEN = '{SECRET}'\n",
    },
    "tests": {"test_cart.py": "def test_cart() -> None: ...\n"},
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A page made by `sutler pack --report`, and the account of the same pack. Nobody changes
    either.
    """
    place = tmp_path_factory.mktemp("report")
    folder = grow(place / "project", TREE)
    words = [
        sys.executable,
        "-m",
        "sutler",
        "pack",
        "--max-tokens",
        "6k",
        "-f",
        "json",
        "-o",
        str(place / "pack.json"),
    ]
    done = subprocess.run(
        [*words, "--json", "--report", str(place / "report.html")],
        cwd=folder,
        env={**os.environ, "HOME": str(place / "home")},
        capture_output=True,
        check=True,
        timeout=LIMIT,
    )
    account: dict[str, Any] = json.loads(done.stdout)["report"]
    return place / "report.html", account


def opened(sight: Sight, file: Path) -> Page:
    sight.page.goto(file.as_uri())
    return sight.drawn()


def rows(page: Page, pane: str = "files") -> list[str]:
    return page.locator(f"#pane-{pane} .row .path").all_inner_texts()


def quiet(sight: Sight, file: Path) -> None:
    """It asked for itself and nothing else, and had nothing to complain about."""
    assert sight.asked == [file.as_uri()]
    assert sight.said == []


def test_the_map_is_drawn_and_adds_up_to_the_pack(
    chromium: Browser, report: tuple[Path, dict[str, Any]]
) -> None:
    """Every file of the pack is a cell with its area; cells and frame add up to what the pack used,
    exactly.
    """
    file, account = report
    with watching(chromium) as sight:
        page = opened(sight, file)
        cells = page.evaluate("sutler.cells()")
        assert sum(cell["value"] for cell in cells) == account["used"]
        assert page.locator("#map").get_attribute("data-total") == str(account["used"])
        by_path = {cell["path"]: cell for cell in cells}
        for one in account["shown"]:
            assert by_path[one["path"]]["value"] == one["cost"]
        assert {cell["path"] for cell in cells} == {one["path"] for one in account["shown"]} | {""}
        assert _ink(page) > 3, "the canvas holds one colour only"
        top, low = (
            by_path["README.md"],
            by_path["pyproject.toml"],
        )  # both in the root: areas compare
        assert top["w"] * top["h"] / (low["w"] * low["h"]) == pytest.approx(
            top["value"] / low["value"], rel=0.01
        )
        quiet(sight, file)


def _ink(page: Page) -> int:
    """How many colours the map has, looked at here and there."""
    found: int = page.evaluate(
        """() => { const map = document.getElementById('map'); const pen = map.getContext('2d'); const seen = new Set();
        const { data } = pen.getImageData(0, 0, map.width, map.height);
        for (let at = 0; at < data.length; at += 4 * 997) seen.add(data.slice(at, at + 3).join());
        return seen.size; }"""
    )
    return found


def test_what_is_cut_and_redacted_is_marked(
    chromium: Browser, report: tuple[Path, dict[str, Any]]
) -> None:
    file, account = report
    with watching(chromium) as sight:
        page = opened(sight, file)
        marked = page.locator("#pane-files .row", has_text="src/keys.py")
        expect(marked).to_contain_text("1 redacted")
        cut = [one["path"] for one in account["shown"] if one["level"] != "full"]
        assert cut
        page.click("[data-mark=cut]")
        expect(page.locator("#told")).to_contain_text(f"{len(cut)} of ")
        assert sorted(rows(page)) == sorted(cut)
        assert SECRET not in page.content()


def test_filter_and_sort(chromium: Browser, report: tuple[Path, dict[str, Any]]) -> None:
    file, account = report
    with watching(chromium) as sight:
        page = opened(sight, file)
        costs = {one["path"]: one["cost"] for one in account["shown"]}
        assert rows(page) == sorted(costs, key=lambda path: (-costs[path], _order(account, path)))
        page.get_by_role("columnheader", name="File").get_by_role("button").click()
        assert rows(page) == sorted(costs)
        page.get_by_role("columnheader", name="File").get_by_role("button").click()
        assert rows(page) == sorted(costs, reverse=True)
        assert page.locator("[data-key=path]").first.get_attribute("aria-sort") == "descending"
        page.get_by_role("searchbox", name="Filter files").fill("src -keys")
        expect(page.locator("#told")).to_contain_text("of ")
        until(page, "document.querySelectorAll('#pane-files .row').length < 5")
        assert all(path.startswith("src/") and "keys" not in path for path in rows(page))
        page.get_by_role("searchbox", name="Filter files").fill("nothing at all")
        expect(page.locator("#pane-files .empty")).to_be_visible()
        quiet(sight, file)


def _order(account: dict[str, Any], path: str) -> int:
    return [one["path"] for one in account["shown"]].index(path)


def test_left_out_with_the_rule(chromium: Browser, report: tuple[Path, dict[str, Any]]) -> None:
    with watching(chromium) as sight:
        page = opened(sight, report[0])
        page.get_by_role("tab", name="Left out").click()
        expect(page.locator("#pane-left .row", has_text="trace.noise")).to_contain_text(
            ".gitignore:1: *.noise"
        )


def test_a_click_opens_outline_and_excerpt(
    chromium: Browser, report: tuple[Path, dict[str, Any]]
) -> None:
    with watching(chromium) as sight:
        page = opened(sight, report[0])
        [cell] = [one for one in page.evaluate("sutler.cells()") if one["path"] == "src/cart.py"]
        middle: Position = {"x": cell["x"] + cell["w"] / 2, "y": cell["y"] + cell["h"] / 2}
        page.locator("#map").hover(position=middle)
        expect(page.locator("#tip")).to_contain_text("src/cart.py")
        expect(page.locator("#tip")).to_contain_text(f"{cell['value']:,} tokens")
        page.locator("#map").click(position=middle)
        sheet = page.get_by_role("dialog")
        expect(sheet).to_contain_text("class Cart:")
        expect(sheet.get_by_role("list", name="Outline")).to_contain_text("def roll(self) -> int")
        page.keyboard.press("Escape")
        expect(sheet).not_to_be_visible()


def test_the_receipt_and_the_digests(
    chromium: Browser, report: tuple[Path, dict[str, Any]]
) -> None:
    file, account = report
    with watching(chromium) as sight:
        page = opened(sight, file)
        page.get_by_role("tab", name="Receipt").click()
        pane = page.locator("#pane-receipt")
        expect(pane).to_contain_text(account["pack_id"])
        expect(pane.locator(".row", has_text="README.md")).to_contain_text(
            account["shown"][0]["sha256"][:8]
        )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(
    chromium: Browser, report: tuple[Path, dict[str, Any]], scheme: Any
) -> None:
    """Text has contrast in both schemes, and the button overrules the system."""
    with watching(chromium, scheme=scheme) as sight:
        page = opened(sight, report[0])
        assert (_brightness(page, "body") < 60) == (scheme == "dark")
        assert _contrast(page, ".quiet") > 4.5
        assert _contrast(page, "h1") > 7
        for _ in range(2):
            page.click("#theme")
        assert page.locator("html").get_attribute("data-theme") == "dark"
        assert _brightness(page, "body") < 60
        quiet(sight, report[0])


_BACK = "getComputedStyle(document.body).backgroundColor"


def _channels(page: Page, script: str) -> list[float]:
    return [
        float(part)
        for part in page.evaluate(script).removeprefix("rgb(").rstrip(")").split(",")[:3]
    ]


def _brightness(page: Page, where: str) -> float:
    return sum(_channels(page, _BACK)) / 3


def _contrast(page: Page, where: str) -> float:
    def luminance(parts: list[float]) -> float:
        linear = [
            (part / 255 / 12.92) if part < 10 else ((part / 255 + 0.055) / 1.055) ** 2.4
            for part in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    text = luminance(_channels(page, f"getComputedStyle(document.querySelector('{where}')).color"))
    back = luminance(_channels(page, _BACK))
    return (max(text, back) + 0.05) / (min(text, back) + 0.05)


def test_names_for_who_cannot_see_it(
    chromium: Browser, report: tuple[Path, dict[str, Any]]
) -> None:
    """Every control has a name, the map says what it is, and the grid says how long it is."""
    with watching(chromium) as sight:
        page = opened(sight, report[0])
        for role in ("button", "tab", "searchbox"):
            for one in page.get_by_role(role).all():
                assert one.inner_text() or one.get_attribute("aria-label")
        assert "8 files" in (page.get_by_role("application").get_attribute("aria-label") or "")
        assert (
            page.get_by_role("grid", name="Files in the pack").get_attribute("aria-rowcount") == "9"
        )
        assert "%" in (page.locator("#meter").get_attribute("aria-label") or "")
        tree = page.locator("body").aria_snapshot()
        for words in ("heading", "tablist", "grid", "application", "contentinfo"):
            assert words in tree


def test_the_keyboard_reaches_everything(
    chromium: Browser, report: tuple[Path, dict[str, Any]]
) -> None:
    with watching(chromium) as sight:
        page = opened(sight, report[0])
        page.locator("#map").focus()
        page.keyboard.press("Home")
        first = page.locator("#said").inner_text()
        assert "tokens" in first
        for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"):
            page.keyboard.press(key)
        page.get_by_role("grid", name="Files in the pack").focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        active = page.get_by_role("grid", name="Files in the pack").get_attribute(
            "aria-activedescendant"
        )
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_be_visible()
        assert (
            page.locator(f"#{active} .path").inner_text()
            == page.locator("#detail-title").inner_text()
        )
        page.keyboard.press("Escape")
        page.get_by_role("tab", name="In the pack").focus()
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tab", name="Left out")).to_have_attribute("aria-selected", "true")
        quiet(sight, report[0])


def test_two_packs_compared(
    chromium: Browser, plant: Plant, sutler: Sutler, tmp_path: Path
) -> None:
    """`sutler report B --against A`: what entered, what left, at what price; other formats are no
    matter.
    """
    folder = plant(TREE)
    assert (
        sutler("pack", "-e", "src/", "-f", "xml", "-o", str(tmp_path / "a.xml"), cwd=folder).code
        == 0
    )
    assert sutler("pack", "-e", "tests/", "-o", str(tmp_path / "b.md"), cwd=folder).code == 0
    page_file = tmp_path / "diff.html"
    done = sutler(
        "report",
        str(tmp_path / "b.md"),
        "--against",
        str(tmp_path / "a.xml"),
        "-o",
        str(page_file),
        cwd=folder,
    )
    assert done.code == 0, done.err
    with watching(chromium) as sight:
        page = opened(sight, page_file)
        page.get_by_role("tab", name="Compared").click()
        expect(page.locator("#pane-compare .row", has_text="src/cart.py")).to_contain_text(
            "entered"
        )
        expect(page.locator("#pane-compare .row", has_text="tests/test_cart.py")).to_contain_text(
            "left"
        )
        assert "src/cart.py" in rows(page, "compare")
        page.get_by_role("tab", name="Left out").click()
        expect(page.locator("#pane-left .row", has_text="trace.noise")).to_contain_text(
            ".gitignore:1: *.noise"
        )
        quiet(sight, page_file)


HOSTILE = {
    '<img src=x onerror="document.title=`owned`">.py': "x = 1\n",
    "'><svg onload=alert(1)>.md": "# t\n",
    "a\u202egpj.py": "y = 2\n",
    "src": {
        "end.html": "</script><script>alert(1)</script><!--<script>\u2028\u2029\n",
        "policy.md": '<meta http-equiv="refresh" content="0;url=http://127.0.0.1:9/">\n',
        "__proto__": "constructor\n",
    },
}


def test_hostile_names_and_contents_are_harmless(
    chromium: Browser, plant: Plant, sutler: Sutler, tmp_path: Path
) -> None:
    """Names and texts that are markup, script or hidden characters are shown and nothing else."""
    folder = plant(HOSTILE)
    for path in folder.rglob("*.py"):
        assert path.exists()
    pages = [tmp_path / "run.html", tmp_path / "file.html"]
    goal = "</script><img src=x onerror=alert(1)>"
    done = sutler(
        "pack",
        "--goal",
        goal,
        "--fill",
        "--report",
        str(pages[0]),
        "-o",
        str(tmp_path / "p.json"),
        "-f",
        "json",
        cwd=folder,
    )
    assert done.code == 0, done.err
    assert sutler("report", str(tmp_path / "p.json"), "-o", str(pages[1]), cwd=folder).code == 0
    for file in pages:
        with watching(chromium) as sight:
            page = opened(sight, file)
            shown = rows(page)
            assert any("<img src=x onerror=" in path for path in shown)
            assert not any("\u202e" in path for path in shown)
            assert page.evaluate(
                "[document.images.length, document.querySelectorAll('svg').length]"
            ) == [0, 0]
            assert page.locator("#goal").inner_text() == goal
            scores = [row.get("score") for row in page.evaluate("sutler.view().files")]
            assert all(isinstance(one, float | int) for one in scores) == (
                file is pages[0]
            )  # a file holds none
            page.locator("#pane-files .row", has_text="end.html").click()
            expect(page.get_by_role("dialog")).to_contain_text("</script><script>alert(1)</script>")
            assert page.title() == "project: sutler report"
            quiet(sight, file)


def test_the_policy_holds_even_if_markup_got_in(
    chromium: Browser, report: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    """The second line of defence: markup that somebody forces into the page neither runs nor
    loads.
    """
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        where = f"http://127.0.0.1:{elsewhere.getsockname()[1]}/x"
        bad = f"<script>document.title='owned'</script><img src={where} onerror=document.title='owned'>"
        file = tmp_path / "forced.html"
        file.write_text(report[0].read_text().replace("</main>", f"{bad}</main>", 1))
        with watching(chromium) as sight:
            page = opened(sight, file)
            assert page.title() != "owned"
            assert any("Content Security Policy" in line for line in sight.said)
            elsewhere.settimeout(0.2)
            with pytest.raises(TimeoutError):
                elsewhere.accept()
            with pytest.raises(Exception, match="TrustedHTML"):
                page.evaluate("document.body.innerHTML = '<b>x</b>'")


def test_twenty_megabytes_give_a_page_that_opens(
    chromium: Browser, plant: Plant, sutler: Sutler, tmp_path: Path
) -> None:
    """A pack of 20 MB in 400 files: the page stays small, opens, and shows every file."""
    line = "words of a long file that nobody wants to read whole\n"
    folder = plant({f"d{n % 20}": {f"f{m}.txt": line * 970 for m in range(20)} for n in range(20)})
    pack, file = tmp_path / "big.md", tmp_path / "big.html"
    words = ("pack", "--no-budget", "--cut-over", "0", "--counter", "none", "-q", "-o", str(pack))
    assert sutler(*words, cwd=folder).code == 0
    assert pack.stat().st_size > 20_000_000
    assert sutler("report", str(pack), "-o", str(file), cwd=folder).code == 0
    assert file.stat().st_size < 6_000_000
    with watching(chromium) as sight:
        page = opened(sight, file)
        assert len(page.evaluate("sutler.cells()")) == 401
        assert page.locator("#pane-files .row").count() < 60
        quiet(sight, file)


def test_ten_thousand_files_stay_a_few_elements(chromium: Browser, tmp_path: Path) -> None:
    """The map is one canvas and the table holds the rows in sight: the page's weight does not grow
    with the pack.
    """
    from sutler.pack.page.html import page as page_of
    from sutler.pack.page.view import FileRow, LeftRow, Limit, Measure, View

    files = tuple(
        FileRow(f"d{n % 37}/e{n % 11}/f{n}.py", (n % 997 + 1,), "full", "source", "source")
        for n in range(10_000)
    )
    total = sum(row.costs[0] for row in files)
    left = tuple(LeftRow(f"x/{n}", "ignored", ".gitignore:1: x/") for n in range(10_000))
    view = View(
        project="big",
        pack_id="0" * 64,
        format="markdown",
        budget=Limit(total, "tokens"),
        measures=(Measure("tokens", total, 0),),
        files=files,
        left=left,
    )
    file = tmp_path / "many.html"
    file.write_text(page_of(view))
    with watching(chromium) as sight:
        page = opened(sight, file)
        assert page.evaluate("sutler.cells().length") == 10_000
        assert page.evaluate("document.getElementsByTagName('*').length") < 1_500
        page.evaluate("document.querySelector('#pane-files .body').scrollTop = 1e6")
        until(
            page,
            "Number(document.querySelector('#pane-files .row').getAttribute('aria-rowindex')) > 5000",
        )
        page.get_by_role("searchbox", name="Filter files").fill("f9999.py")
        expect(page.locator("#told")).to_have_text("1 of 10,000 files, 30 tokens")
        page.get_by_role("tab", name="Left out").click()
        assert page.locator("#pane-left .row").count() < 60
        quiet(sight, file)


def test_a_narrow_screen_loses_nothing(
    chromium: Browser, report: tuple[Path, dict[str, Any]]
) -> None:
    with watching(chromium, width=420, height=800) as sight:
        page = opened(sight, report[0])
        assert page.evaluate("document.documentElement.scrollWidth") <= 420
        assert len(rows(page)) == 8


def test_a_terminal_is_no_place_for_a_page(plant: Plant, sutler: Sutler) -> None:
    folder = plant(TREE)
    done = sutler("report", "missing.md", cwd=folder)
    assert (done.code, "cannot read" in done.err) == (2, True)
    done = sutler("report", "-", cwd=folder, stdin=b"no pack at all")
    assert (done.code, "not a sutler pack" in done.err) == (2, True)
    done = sutler("pack", "--report", "-", cwd=folder)
    assert (done.code, "--report names no file" in done.err) == (2, True)


@pytest.mark.parametrize(
    "more", [(), ("--type", "full"), ("--type", "summary")], ids=["pack", "full", "summary"]
)
def test_every_kind_of_pack_has_a_page(
    plant: Plant, sutler: Sutler, tmp_path: Path, more: tuple[str, ...]
) -> None:
    """Rows and frame add up in every measure, for packs and for documents, while packing and from
    the file.
    """
    folder = plant(TREE)
    pack = tmp_path / "p.json"
    done = sutler(
        "pack",
        *more,
        "-f",
        "json",
        "-o",
        str(pack),
        "--report",
        str(tmp_path / "p.html"),
        cwd=folder,
    )
    assert done.code == 0, done.err
    view = json.loads(sutler("report", str(pack), "--json", cwd=folder).out)
    assert view["files"]
    for at, one in enumerate(view["measures"]):
        assert one["frame"] + sum(row["costs"][at] for row in view["files"]) == one["total"]
    assert dict(view["receipt"])["to"].endswith("p.json")


def test_no_redact_is_for_the_pack_and_not_for_the_page(
    plant: Plant, sutler: Sutler, tmp_path: Path
) -> None:
    """A page is made to be passed on: it is redacted even if the pack was not."""
    folder = plant(TREE)
    pack, page, again = tmp_path / "p.md", tmp_path / "p.html", tmp_path / "q.html"
    assert (
        sutler("pack", "--no-redact", "-o", str(pack), "--report", str(page), cwd=folder).code == 0
    )
    assert sutler("report", str(pack), "-o", str(again), cwd=folder).code == 0
    assert SECRET in pack.read_text()
    for file in (page, again):
        assert SECRET not in file.read_text()
        assert "REDACTED:" in file.read_text()


def test_the_same_pack_gives_the_same_page(plant: Plant, sutler: Sutler, tmp_path: Path) -> None:
    folder = plant(TREE)
    assert sutler("pack", "-o", str(tmp_path / "p.md"), cwd=folder).code == 0
    first, second = (
        sutler("report", str(tmp_path / "p.md"), "-o", "-", cwd=folder).out for _ in range(2)
    )
    assert first == second


def test_with_a_goal_the_page_answers_why(
    plant: Plant, sutler: Sutler, chromium: Browser, tmp_path: Path
) -> None:
    """The map is coloured by the strongest signal. The sheet of a file shows reasons, the score by
    signal and the lines that match. What was left out can be drawn, and has a sheet too.
    """
    page_file = tmp_path / "why.html"
    words = ["--goal", "the cart must roll on its axle", "--max-tokens", "2k", "--fill"]
    ran = sutler("pack", *words, "-o", "/dev/null", "--report", str(page_file), cwd=plant(TREE))
    assert ran.code == 0, ran.err
    for width in (400, 1280):
        with watching(chromium, width=width) as sight:
            page = opened(sight, page_file)
            button = page.get_by_role("button", name="colour by strongest signal")
            expect(button).to_have_attribute("aria-pressed", "true")
            expect(page.locator("#legend")).to_contain_text("passage")
            button.click()
            expect(page.locator("#legend")).not_to_contain_text("passage")
            page.get_by_role("tab", name="Left out").click()
            drawn = page.evaluate("window.sutler.cells().length")
            page.get_by_label("draw them on the map").check()
            until(page, f"window.sutler.cells().length > {drawn}")
            page.locator("#pane-left .row").first.click()
            expect(page.get_by_role("dialog")).to_contain_text("enters at a limit of about")
            page.keyboard.press("Escape")
            page.get_by_role("tab", name="In the pack").click()
            page.locator("#pane-files .row .path", has_text="cart.py").first.click()
            sheet = page.get_by_role("dialog")
            expect(sheet.get_by_role("list", name="Reasons")).to_be_visible()
            expect(sheet.get_by_role("list", name="Score by signal")).to_be_visible()
            expect(
                sheet.get_by_role("list", name="Matched lines").locator("mark").first
            ).to_be_visible()
            quiet(sight, page_file)


def view_in(page_file: Path) -> dict[str, Any]:
    """The data of a page."""
    text = page_file.read_text()
    start = text.index(">", text.index('id="view"')) + 1
    view: dict[str, Any] = json.loads(text[start : text.index("</script>", start)])
    return view


def test_left_out_files_are_sorted_by_how_near_they_were(
    plant: Plant, sutler: Sutler, tmp_path: Path
) -> None:
    page_file = tmp_path / "why.html"
    words = ["--goal", "the cart must roll on its axle", "--max-tokens", "1500", "-o", "/dev/null"]
    assert sutler("pack", *words, "--report", str(page_file), cwd=plant(TREE)).code == 0
    scores = [row.get("score") or 0.0 for row in view_in(page_file)["left"]]
    assert scores == sorted(scores, reverse=True)


def test_a_file_enters_at_the_ceiling_that_the_page_names(
    plant: Plant, sutler: Sutler, tmp_path: Path
) -> None:
    """A tenth above the ceiling a file that was left out is in; a tenth below it is not whole."""
    folder = plant({f"part{n:02}.py": f"value_{n} = {n}\n" * 60 for n in range(30)})
    page_file = tmp_path / "why.html"
    words = ["pack", "--max-tokens", "3k", "-o", "/dev/null"]
    assert sutler(*words, "--report", str(page_file), cwd=folder).code == 0
    near = [row for row in view_in(page_file)["left"] if row.get("ceiling")]
    assert [row["ceiling"] for row in near] == sorted(row["ceiling"] for row in near)
    for row in near[2::8]:
        levels = []
        for share in (0.9, 1.1):
            limit = str(int(row["ceiling"] * share))
            ran = sutler("pack", "--max-tokens", limit, "--json", "-o", "/dev/null", cwd=folder)
            shown = {one["path"]: one["level"] for one in json.loads(ran.out)["report"]["shown"]}
            levels.append(shown.get(row["path"]))
        assert levels[0] != "full"
        assert levels[1] == "full"


def test_an_empty_pack_has_a_sentence(
    plant: Plant, sutler: Sutler, chromium: Browser, tmp_path: Path
) -> None:
    folder = plant({"cart.py": "WHEELS = 4\n"})
    pack, page_file = tmp_path / "p.md", tmp_path / "p.html"
    goal = ["--goal", "translate the Georgian hyphenation of subtitles into Morse"]
    assert sutler("pack", *goal, "-o", str(pack), cwd=folder).code == 0
    assert sutler("report", str(pack), "-o", str(page_file), cwd=folder).code == 0
    assert not view_in(page_file)["files"]
    with watching(chromium) as sight:
        sight.page.goto(f"file://{page_file}")
        expect(sight.page.locator("#notes")).to_contain_text("This pack holds no file")
        quiet(sight, page_file)


def test_figures_agree_with_the_summary_and_the_receipt(
    plant: Plant, sutler: Sutler, tmp_path: Path
) -> None:
    page_file = tmp_path / "p.html"
    words = ["pack", "--max-tokens", "2k", "-o", str(tmp_path / "p.md"), "--report", str(page_file)]
    ran = sutler(*words, cwd=plant(TREE))
    view = view_in(page_file)
    left = sum(row.get("count", 1) for row in view["left"])
    assert f"packed  {len(view['files'])} of {len(view['files']) + left} files" in ran.err
    assert f"{view['budget']['used']:,} of 2,000 tokens" in ran.err
    receipt = dict(view["receipt"])
    assert receipt["tokens"].startswith(f"{view['budget']['used']:,} ")
    assert receipt["files"].startswith(f"{len(view['files'])} of {len(view['files']) + left};")


def test_a_report_in_the_project_is_not_packed(plant: Plant, sutler: Sutler) -> None:
    folder = plant({"cart.py": "WHEELS = 4\n"})
    before = sutler("pack", cwd=folder).text
    sutler("pack", "-o", "pack.md", "--report", "report.html", cwd=folder)
    (folder / "pack.md").unlink()
    after = sutler("pack", cwd=folder).text
    assert "## `report.html`" not in after
    assert "WHEELS = 4" in before
    assert "WHEELS = 4" in after


def test_every_signal_has_words_in_the_page() -> None:
    from sutler.pack.page.html import asset
    from sutler.ranking.reasons import _SENTENCES

    table = asset("base.js").partition("const SIGNAL = {")[2].partition("};")[0]
    named = set(re.findall(r"(\w+): \"", table))
    assert {*_SENTENCES, "stack"} - {"frame"} <= named
