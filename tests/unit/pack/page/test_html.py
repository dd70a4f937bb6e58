"""The page as text: nothing of a project becomes markup, and the policy names exactly what may
run.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sutler.pack.page.html import LIVE_SCRIPTS, asset, embedded, page, policy, script
from sutler.pack.page.view import Detail, FileRow, LeftRow, Limit, Measure, View

EVIL = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    '<img src=x onerror="alert(1)">',
    "\u2028\u2029",
    "]]>",
    "&lt;b&gt; &amp;",
    "'\"`${alert(1)}",
    "\x00\x1b[31m",
)


def view_with(text: str) -> View:
    row = FileRow(text, (3, 9), "full", "source", text, detail=Detail(((1, 0, text),), text, 1))
    return View(
        project=text,
        pack_id="ab" * 32,
        format="markdown",
        goal=text,
        budget=Limit(5, "tokens", 10),
        measures=(Measure("tokens", 5, 2), Measure("bytes", 12, 3)),
        files=(row,),
        left=(LeftRow(text, "ignored", text),),
        receipt=(("to", text),),
        notes=(text,),
        version="1",
    )


class Outline(HTMLParser):
    """Every tag in order, and the text inside the data element."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, str]] = []
        self.data: dict[str, str] = {}
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs).get("id") or ""))
        self._inside = (dict(attrs).get("id") or tag) if tag in ("script", "title") else ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.data[self._inside] = self.data.get(self._inside, "") + data

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""


def outline(text: str) -> Outline:
    found = Outline()
    found.feed(text)
    found.close()
    return found


PLAIN = outline(page(view_with("plain")))


@pytest.mark.parametrize("text", EVIL)
@pytest.mark.parametrize("live", [False, True], ids=["file", "live"])
def test_no_content_becomes_markup(text: str, live: bool) -> None:
    plain = outline(page(view_with("plain"), live=live, first=embedded("plain")))
    found = outline(page(view_with(text), live=live, first=embedded(text)))
    assert found.tags == plain.tags
    assert json.loads(found.data["view"]) == json.loads(msgspec.json.encode(view_with(text)))


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text_arrives_as_itself(text: str) -> None:
    found = outline(page(view_with(text)))
    assert found.tags == PLAIN.tags
    assert json.loads(found.data["view"])["files"][0]["path"] == text


def test_the_data_holds_no_character_that_could_end_it() -> None:
    assert not set("<>&\u2028\u2029") & set(embedded("".join(EVIL)))


def test_the_policy_names_this_script_and_this_style_alone() -> None:
    text = page(view_with("x"))
    [allowed] = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    [code] = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    [style] = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    for kind, body in (("script", code), ("style", style)):
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{kind}-src &#x27;sha256-{digest}&#x27;;" in allowed
    assert allowed.startswith("default-src &#x27;none&#x27;;")
    assert "unsafe" not in allowed
    assert "connect-src" not in allowed
    assert policy("a", "b", live=True).endswith("connect-src 'self'")


@pytest.mark.parametrize("name", LIVE_SCRIPTS)
def test_scripts_only_ever_set_text(name: str) -> None:
    """No way from text to markup or code, and nothing that would end or bend the element that holds
    the script.
    """
    code = asset(name)
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "Function(",
        "setTimeout(",
    ):
        assert word not in code
    assert "</script" not in code.lower()
    assert "<!--" not in code
    assert "//" not in re.sub(r"^\s*//.*$|/\^.*?/\.test", "", code, flags=re.MULTILINE).replace(
        "http://", "//"
    )


def test_the_same_view_gives_the_same_bytes() -> None:
    assert page(view_with("x")) == page(view_with("x"))
    assert script() != script(live=True)
