"""Pages that are made from code are current; the site they make holds together."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from docs.make_reference import DOCUMENTS, PAGES, page_of
from docs.site import PAGES as SITE
from docs.site import build, slug
from sutler.fronts.cli.command_table import BY_NAME
from tests.docs.blocks import REPOSITORY
from tests.limits import LIMIT


@pytest.mark.parametrize("path", PAGES)
def test_the_page_is_what_the_program_says(path: str) -> None:
    """Run `python -m docs.make_reference` after changing a command, an option or a setting."""
    assert (REPOSITORY / path).read_text() == PAGES[path]()


@pytest.mark.parametrize("name", BY_NAME)
def test_every_option_is_in_reference_and_man_page(name: str) -> None:
    page = page_of(BY_NAME[name])
    reference, man = (PAGES[path]() for path in ("docs/reference.md", "docs/sutler.1"))
    assert f"### {name}\n" in reference
    for _, options in page.groups:
        for one in options:
            assert one.spelling.replace("|", "\\|") in reference
            assert one.spelling.replace("-", "\\-").replace("…", "...") in man


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff reads the man page here")
def test_the_man_page_reads_without_complaint() -> None:
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", str(REPOSITORY / "docs/sutler.1")],
        capture_output=True,
        check=True,
        timeout=LIMIT,
    )
    assert done.stderr == b""
    shown = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout.decode())
    assert "--max-tokens N" in shown.replace("\u2010", "-")
    assert "EXIT STATUS" in shown


def test_llms_txt_names_documents_that_exist() -> None:
    for path, _ in DOCUMENTS:
        assert (REPOSITORY / path).exists(), path


class Links(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.hrefs: list[str] = []
        self.ids: set[str] = set()
        self.loads: list[str] = []
        self.tags: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.add(tag)
        self.hrefs += [found["href"] or ""] if tag == "a" and "href" in found else []
        self.ids |= {found["id"] or ""} if "id" in found else set()
        self.loads += [found[name] or "" for name in ("src", "srcset", "data") if name in found]
        self.loads += [found["href"] or ""] if tag == "link" else []


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Links]:
    out = tmp_path_factory.mktemp("site")
    return {page.name: Links(page.read_text()) for page in build(out)} | {
        extra.name: Links("") for extra in out.iterdir() if extra.suffix != ".html"
    }


def test_every_link_of_the_site_leads_to_a_page_and_a_place_on_it(site: dict[str, Links]) -> None:
    for name, page in site.items():
        for href in page.hrefs:
            if not href.startswith("http"):
                target, _, part = href.partition("#")
                assert (target or name) in site, f"{name}: {href}"
                assert not part or part in site[target or name].ids, f"{name}: {href}"


def test_the_site_loads_nothing_from_anywhere(site: dict[str, Links]) -> None:
    """Pictures are inside the pages; there is no script and no style sheet to fetch."""
    for page in site.values():
        assert all(one.startswith("data:") for one in page.loads)
        assert not page.tags & {"script", "iframe", "link", "object", "form"}


def test_every_page_leads_to_every_other(site: dict[str, Links]) -> None:
    pages = {name for name, _ in SITE.values()}
    for name in pages:
        assert pages <= set(site[name].hrefs)
        assert {"nav", "main", "title", "h1"} <= site[name].tags


def test_every_document_is_on_the_site() -> None:
    documents = {str(page.relative_to(REPOSITORY)) for page in REPOSITORY.glob("docs/**/*.md")}
    assert documents <= set(SITE)


def test_equal_headings_get_addresses_of_their_own() -> None:
    taken: set[str] = set()
    assert [slug("What's `new`?", taken), slug("Whats new", taken)] == ["whats-new", "whats-new-1"]


def test_a_link_to_nothing_stops_the_build(tmp_path: Path) -> None:
    from docs.site import address

    with pytest.raises(ValueError, match="leads to nothing"):
        address("missing.md", "README.md")
