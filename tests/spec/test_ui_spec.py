"""`sutler ui` as a process: who gets in, what a person can do, and that what is shown is what is
written.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

from tests.browsers import watching
from tests.conftest import Plant, Sutler
from tests.limits import Lines

TREE = {
    "README.md": "# Cart\n",
    "src": {"cart.py": "WHEELS = 4\n", "axle.py": "AXLES = 2\n"},
    "tests": {"test_cart.py": "def test_cart() -> None: ...\n"},
}
EVIL = "WHEELS = '<img src=x onerror=alert(1)>'\n"


class Served(NamedTuple):
    url: str
    process: subprocess.Popen[str]

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc

    def ask(
        self,
        where: str,
        headers: Mapping[str, str] | None = None,
        *,
        method: str = "GET",
        body: object = None,
    ) -> tuple[int, dict[str, str], bytes]:
        """A request as any program on this machine could make it."""
        line = http.client.HTTPConnection(self.host, timeout=60)
        given = {"Host": self.host, **(headers or {})}
        data = None if body is None else json.dumps(body)
        try:
            line.request(
                method,
                where,
                data,
                {**given, **({"Content-Type": "application/json"} if data else {})},
            )
            answer = line.getresponse()
            return (
                answer.status,
                {name.lower(): value for name, value in answer.getheaders()},
                answer.read(),
            )
        finally:
            line.close()

    def enter(self) -> tuple[str, dict[str, str]]:
        """Spend the printed key; the folder and the headers of the page that comes."""
        parts = urlsplit(self.url)
        status, headers, _ = self.ask(f"{parts.path}?{parts.query}")
        assert status == 303
        return parts.path, {
            "Cookie": headers["set-cookie"].partition(";")[0],
            "Origin": f"http://{self.host}",
        }


@contextmanager
def serving(folder: Path, *words: str) -> Iterator[Served]:
    process = subprocess.Popen(
        [sys.executable, "-m", "sutler", "ui", *words],
        cwd=folder,
        env=os.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield Served(Lines(process.stdout).line().decode().strip(), process)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
        process.stdout.close()


def test_only_the_person_who_started_it_gets_in(plant: Plant) -> None:
    """No key is 401, another origin 403, another name 421; the key works once; answers are strict;
    Ctrl-C ends it.
    """
    with serving(plant(TREE)) as served:
        folder = urlsplit(served.url).path
        for where in ("/", folder, f"{folder}api/approvals", f"{folder}?key=guess"):
            assert served.ask(where)[0] == 401
        parts = urlsplit(served.url)
        evil = {"Origin": "http://evil.example"}
        assert served.ask(f"{parts.path}?{parts.query}", evil)[0] == 403
        assert (
            served.ask(f"{parts.path}?{parts.query}", {"Host": f"localhost:{parts.port}"})[0] == 421
        )
        home, own = served.enter()
        assert served.ask(f"{parts.path}?{parts.query}")[0] == 401
        status, headers, body = served.ask(home, own)
        assert status == 200
        assert b"README.md" in body
        assert headers["content-security-policy"].startswith(
            "default-src 'none'; script-src 'sha256-"
        )
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        for strange in (
            evil,
            {"Origin": "null"},
            {"Origin": f"http://127.0.0.1:{(parts.port or 0) - 1}"},
        ):
            for where, method in ((home, "GET"), (f"{home}api/pack", "POST")):
                assert served.ask(where, {**own, **strange}, method=method, body={})[0] == 403
        no_origin = {"Cookie": own["Cookie"]}
        assert served.ask(f"{home}api/pack", no_origin, method="POST", body={})[0] == 403
        assert served.ask("/api/pack", own, method="POST", body={})[0] == 404
    assert served.process.returncode == 0


def test_the_page_holds_no_secret_of_the_goal(plant: Plant) -> None:
    """Neither the view nor the form shows a secret that stands in the user's own task."""
    password = "Vw7kQm2xLp9rTz4"
    tree = {**TREE, "db.ini": f"[db]\npassword = {password}\n"}
    with serving(plant(tree), "--goal", f"replace the password {password} in the cart") as served:
        home, own = served.enter()
        status, _, body = served.ask(home, own)
        assert status == 200
        assert b"in the cart" in body
        assert password.encode() not in body


def test_requests_are_checked_like_any_input(plant: Plant) -> None:
    with serving(plant(TREE)) as served:
        home, own = served.enter()
        where = f"{home}api/pack"
        wrong: list[object] = [{"unknown": 1}, {"max_tokens": "many"}, [], {"max_tokens": 0}]
        for body in wrong:
            status, _, answer = served.ask(where, own, method="POST", body=body)
            assert status == 400, answer
            assert json.loads(answer)["error"]["what"]
        assert served.ask(where, own, method="POST", body={"goal": "x" * 2_000_000})[0] == 413
        status, _, answer = served.ask(where, own, method="POST", body={"max_tokens": 9})
        assert status == 422
        assert "budget" in json.loads(answer)["error"]["what"]
        assert served.ask(where, own)[0] == 405
        assert served.ask(f"{home}../../etc/passwd", own)[0] == 404
        status, _, text = served.ask(
            f"{home}api/text", own, method="POST", body={"include": ["*.md"]}
        )
        assert status == 200
        assert text.startswith(b"# sutler pack")


def test_a_change_of_the_selection_changes_the_pack(chromium: Browser, plant: Plant) -> None:
    with serving(plant(TREE), "--max-tokens", "5k") as served, watching(chromium) as sight:
        page = sight.page
        page.goto(served.url)
        sight.drawn()
        assert "key=" not in page.url
        expect(page.locator("#tab-files")).to_contain_text("4")
        page.locator(".row", has_text="src/axle.py").get_by_role("checkbox").click()
        expect(page.locator("#live-state")).to_contain_text("packed: 3 files")
        assert "src/axle.py" not in page.locator("#pane-files .path").all_inner_texts()
        page.get_by_role("tab", name="Left out").click()
        expect(page.locator("#pane-left .row", has_text="src/axle.py")).to_contain_text(
            "selection: unticked by you"
        )
        page.get_by_role("button", name="Put src/axle.py back").click()
        expect(page.locator("#live-state")).to_contain_text("packed: 4 files")
        page.get_by_label("Without").fill("tests/ *.md")
        page.get_by_role("button", name="Pack", exact=True).click()
        expect(page.locator("#live-state")).to_contain_text("packed: 2 files")
        page.get_by_label("Goal").fill("how many wheels has the cart")
        page.get_by_role("button", name="Pack", exact=True).click()
        expect(page.locator("#goal")).to_have_text("how many wheels has the cart")
        page.get_by_role("spinbutton", name="Tokens").fill("3")
        page.get_by_role("button", name="Pack", exact=True).click()
        expect(page.locator("#live-state")).to_contain_text("the budget is 3")
        assert [
            line for line in sight.said if "422" not in line
        ] == []  # the browser notes the refusal by itself
        assert {urlsplit(one).netloc for one in sight.asked} == {served.host}


def asked(sutler: Sutler, folder: Path, content: str = EVIL) -> None:
    done = sutler("write", "src/cart.py", "--base", "any", cwd=folder, stdin=content.encode())
    assert (done.code, "needs approval" in done.err) == (5, True), done.err


def test_what_is_shown_is_what_is_written(chromium: Browser, plant: Plant, sutler: Sutler) -> None:
    """A pending change is shown as text, approved as it was shown, and these very bytes are
    written, once.
    """
    folder = plant(TREE)
    asked(sutler, folder)
    with serving(folder) as served, watching(chromium) as sight:
        page = sight.page
        page.goto(served.url)
        sight.drawn()
        page.get_by_role("tab", name="Approvals").click()
        card = page.get_by_role("article", name="write_file on src/cart.py")
        expect(card.locator(".plus")).to_have_text("+" + EVIL.rstrip())
        expect(card.locator(".minus")).to_have_text("-WHEELS = 4")
        assert page.evaluate("document.images.length") == 0
        card.get_by_role("button", name="Approve").click()
        expect(page.locator("#pane-approvals")).to_contain_text("Nothing waits.")
        page.get_by_role("tab", name="Ledger").click()
        expect(page.locator("#pane-ledger .row", has_text="approval_approved")).to_be_visible()
        page.get_by_role("button", name="Verify the chain").click()
        expect(page.locator("#pane-ledger .state")).to_contain_text("rows hold")
        assert sight.said == []
    done = sutler("write", "src/cart.py", "--base", "any", cwd=folder, stdin=b"WHEELS = 5\n")
    assert done.code == 5
    done = sutler("write", "src/cart.py", "--base", "any", cwd=folder, stdin=EVIL.encode())
    assert done.code == 0, done.err
    assert (folder / "src/cart.py").read_text() == EVIL


def waiting(served: Served, home: str, own: dict[str, str]) -> dict[str, Any]:
    [one] = json.loads(served.ask(f"{home}api/approvals", own)[2])["waiting"]
    found: dict[str, Any] = one
    return found


def test_what_was_not_shown_so_is_not_approved(plant: Plant, sutler: Sutler) -> None:
    """A wrong digest, a file that moved on, a change too long to be shown: each fails, and denying
    still works.
    """
    folder = plant(TREE)
    asked(sutler, folder)
    with serving(folder) as served:
        home, own = served.enter()
        one = waiting(served, home, own)
        where = f"{home}api/approvals/{one['id']}"
        wrong = {"verdict": "approve", "digest": "0" * 64}
        assert served.ask(where, own, method="POST", body=wrong)[0] == 409
        (folder / "src/cart.py").write_text("WHEELS = 6\n")
        right = {"verdict": "approve", "digest": one["digest"]}
        status, _, body = served.ask(where, own, method="POST", body=right)
        assert (status, b"moved on" in body) == (409, True)
        assert served.ask(where, own, method="POST", body={**right, "verdict": "deny"})[0] == 200
        assert served.ask(where, own, method="POST", body=right)[0] == 400
        asked(sutler, folder, "WHEELS = 1\n" * 900)
        one = waiting(served, home, own)
        assert one["whole"] is False
        where = f"{home}api/approvals/{one['id']}"
        status, _, body = served.ask(
            where, own, method="POST", body={"verdict": "approve", "digest": one["digest"]}
        )
        assert (status, b"too long" in body) == (409, True)
    assert (folder / "src/cart.py").read_text() == "WHEELS = 6\n"


def test_a_taken_port_is_an_error_with_a_way_out(plant: Plant, sutler: Sutler) -> None:
    folder = plant(TREE)
    with serving(folder) as served:
        done = sutler("ui", "--port", served.host.partition(":")[2], cwd=folder)
    assert done.code == 1
    assert "--port" in done.err


@pytest.mark.parametrize("port", ["x", "-1", "70000"])
def test_a_port_is_a_number(plant: Plant, sutler: Sutler, port: str) -> None:
    assert sutler("ui", f"--port={port}", cwd=plant(TREE)).code == 2
