"""Repositories by URL: the same pack over every transport, and nothing of a hostile one runs."""

from __future__ import annotations

import http.server
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sutler.errors import SutlerError
from sutler.remote import git_fetch, shelf
from sutler.remote.source import Remote, remote_of
from tests.limits import LIMIT, until

ALIKE = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def git(folder: Path, *words: str) -> str:
    settings = ["-c", "user.name=x", "-c", "user.email=x@x", "-c", "init.defaultBranch=main"]
    done = subprocess.run(
        ["git", *settings, *words],
        cwd=folder,
        env={**os.environ, **ALIKE},
        check=True,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    return done.stdout.strip()


def sutler(cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sutler", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


@pytest.fixture
def served(tmp_path: Path) -> Path:
    """A folder with the repository `cart`, its clone `bare/cart` and hooks that must not run."""
    work = tmp_path / "work" / "cart"
    (work / "src").mkdir(parents=True)
    git(work, "init", "-q")
    (work / "README.md").write_text("# Cart\n")
    (work / ".gitignore").write_text("*.gen\n")
    (work / "kept.gen").write_text("tracked although ignored\n")
    (work / "src" / "cart.py").write_text("WHEELS = 4\n")
    (work / "run.sh").write_text("#!/bin/sh\n")
    (work / "run.sh").chmod(0o755)
    (work / "link").symlink_to("/etc/passwd")
    (work / ".gitattributes").write_text("*.py filter=evil export-ignore\n")
    git(work, "add", "-A", "-f")
    git(work, "commit", "-qm", "Build the cart")
    git(work, "tag", "-am", "First", "v1")
    (work / "src" / "cart.py").write_text("WHEELS = 6\n")
    git(work, "commit", "-qam", "More wheels")
    git(work, "clone", "-q", "--bare", str(work), str(tmp_path / "bare" / "cart"))
    return tmp_path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def daemon(folder: Path) -> Iterator[str]:
    port = free_port()
    words = ["git", "daemon", "--export-all", f"--base-path={folder}", "--listen=127.0.0.1"]
    child = subprocess.Popen([*words, f"--port={port}", "--reuseaddr", str(folder)])
    try:
        until(lambda: answers(port))
        yield f"git://127.0.0.1:{port}"
    finally:
        child.terminate()
        child.wait(LIMIT)


class Smart(http.server.BaseHTTPRequestHandler):
    """git-http-backend behind http.server; `paths` are the requests seen."""

    root = ""
    paths: list[str]

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length", "0"))))

    def _answer(self, body: bytes) -> None:
        type(self).paths.append(self.path)
        path, _, query = self.path.partition("?")
        env = {
            **os.environ,
            **ALIKE,
            "GIT_PROJECT_ROOT": self.root,
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        done = subprocess.run(
            ["git", "http-backend"], input=body, env=env, stdout=subprocess.PIPE, check=True,
            timeout=LIMIT,
        )  # fmt: skip
        head, _, rest = done.stdout.partition(b"\r\n\r\n")
        fields = [line.partition(": ") for line in head.decode().split("\r\n")]
        status = next((value for name, _, value in fields if name == "Status"), "200")
        self.send_response(int(status.split()[0]))
        for name, _, value in fields:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(rest)

    def log_message(self, format: str, *args: object) -> None:
        del format, args


@contextmanager
def serving(handler: type[http.server.BaseHTTPRequestHandler]) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    worker = threading.Thread(target=server.serve_forever, daemon=True)
    worker.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        worker.join(LIMIT)


def smart(root: Path) -> type[Smart]:
    return type("Served", (Smart,), {"root": str(root), "paths": []})


def test_every_transport_gives_the_pack_of_the_checkout(served: Path) -> None:
    expected = sutler(served / "work" / "cart", "pack").stdout
    assert "tracked although ignored" in expected
    with daemon(served / "bare") as by_git, serving(smart(served / "bare")) as by_http:
        for base in (f"file://{served}/bare", by_git, by_http):
            done = sutler(served, "pack", f"{base}/cart")
            assert done.returncode == 0, done.stderr
            assert done.stdout == expected, base
            assert sutler(served, f"{base}/cart").stdout == expected


def test_a_revision_a_path_and_a_range(served: Path) -> None:
    url = f"file://{served}/bare/cart"
    assert "WHEELS = 4" in sutler(served, "pack", f"{url}@v1").stdout
    first = git(served / "work" / "cart", "rev-parse", "v1^{}")
    assert "WHEELS = 4" in sutler(served, "pack", f"{url}@{first}").stdout
    part = sutler(served, "pack", f"{url}:src").stdout
    assert "WHEELS = 6" in part
    assert "# Cart" not in part
    change = sutler(served, "pack", f"{url}@v1..main", "--diff")
    assert "-WHEELS = 4" in change.stdout, change.stderr
    nothing = sutler(served, "pack", f"{url}@nothing")
    assert (nothing.returncode, "no revision nothing" in nothing.stderr) == (3, True)


def test_a_pull_request_is_packed_where_the_host_has_it(served: Path) -> None:
    """GitHub and its likes keep the head of a pull request as `refs/pull/N/head`."""
    bare = served / "bare" / "cart"
    git(bare, "update-ref", "refs/pull/7/head", "v1^{}")
    git(bare, "update-ref", "refs/merge-requests/8/head", "v1^{}")
    with serving(smart(served / "bare")) as url:
        pull = sutler(served, "pack", f"{url}/cart#7")
        merge = sutler(served, "pack", f"{url}/cart@refs/merge-requests/8/head")
        none = sutler(served, "pack", f"{url}/cart#9")
    assert "WHEELS = 4" in pull.stdout, pull.stderr
    assert merge.stdout == pull.stdout
    assert (none.returncode, "no revision" in none.stderr) == (3, True)


def test_a_commit_is_fetched_once_and_removed_by_cache(served: Path) -> None:
    handler = smart(served / "bare")
    with serving(handler) as base:
        sutler(served, "pack", f"{base}/cart")
        fetches = sum("git-upload-pack" in path for path in handler.paths)
        sutler(served, "pack", f"{base}/cart")
        again = sum("git-upload-pack" in path for path in handler.paths)
    assert again - fetches < fetches
    assert "remotes" in sutler(served, "cache").stdout
    assert len(shelf.shelved(os.environ)) == 1
    sutler(served, "cache", "clear")
    assert shelf.shelved(os.environ) == []


@pytest.mark.parametrize(
    "word",
    [
        "ext::sh -c touch% /tmp/ran",
        "EXT::sh -c 'touch ran'",
        "fd::17/x",
        "ftp://example.org/a/b",
        "ssh://-oProxyCommand=touch ran/a/b",
        "ssh://-oProxyCommand=touch+ran/a/b",
        "http://example.org/a/b",
        "git://192.168.0.1/a/b",
        "https://user:secret@example.org/a/b",
        "https://example.org/a/b@--upload-pack=touch",
        "https://example.org/a/b:../../etc",
        "file://host/a/b",
        "owner/name@-x",
        "https://example.org/..",
    ],
)
def test_a_hostile_address_is_refused_before_anything_runs(tmp_path: Path, word: str) -> None:
    done = sutler(tmp_path, "pack", word)
    assert done.returncode in (2, 3), done.stderr
    assert "Traceback" not in done.stderr
    assert os.listdir(tmp_path) == []
    assert shelf.shelved(os.environ) == []


@pytest.mark.parametrize(
    ("word", "url", "ref", "path"),
    [
        ("owner/name", "https://github.com/owner/name.git", "", ""),
        ("owner/name@v1.2", "https://github.com/owner/name.git", "v1.2", ""),
        ("owner/name@a/b:src", "https://github.com/owner/name.git", "a/b", "src"),
        ("owner/name#7", "https://github.com/owner/name.git", "refs/pull/7/head", ""),
        ("https://example.org/a/b.git@main:docs", "https://example.org/a/b.git", "main", "docs"),
        ("git@example.org:a/b.git", "ssh://git@example.org/a/b.git", "", ""),
        ("github.com/a/b", "https://github.com/a/b", "", ""),
        ("https://example.org/a/b#7", "https://example.org/a/b", "refs/pull/7/head", ""),
        ("https://github.com/a/b?tab=readme-ov-file", "https://github.com/a/b", "", ""),
        ("https://github.com/a/b/tree/v1/src/x", "https://github.com/a/b", "v1", "src/x"),
        ("https://github.com/a/b/blob/v1/a.py#L10", "https://github.com/a/b", "v1", "a.py"),
        ("github.com/a/b/pull/7/files", "https://github.com/a/b", "refs/pull/7/head", ""),
        ("https://gitlab.com/a/b/c/-/tree/v1/d/", "https://gitlab.com/a/b/c", "v1", "d"),
        (
            "https://gitlab.com/a/b/-/merge_requests/7",
            "https://gitlab.com/a/b",
            "refs/merge-requests/7/head",
            "",
        ),
        ("https://github.com/a/b/compare/v1...v2", "https://github.com/a/b", "v2", ""),
        ("https://example.org/a/tree", "https://example.org/a/tree", "", ""),
    ],
)
def test_spellings(word: str, url: str, ref: str, path: str) -> None:
    remote = remote_of(word)
    assert remote is not None
    assert (remote.url, remote.ref, remote.path) == (url, ref, path)


def test_a_path_here_is_never_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`src/typo.py` beside a folder `src` is a missing file, and so is a path of three parts."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    assert remote_of("src/typo.py") is None
    assert remote_of("a/b/c") is None
    assert remote_of(".") is None


def hostile(answer: Callable[[http.server.BaseHTTPRequestHandler], None]) -> type[Smart]:
    """A server that answers every request in one way."""

    class Hostile(Smart):
        def _answer(self, body: bytes) -> None:
            del body
            type(self).paths.append(self.path)
            answer(self)

    Hostile.paths = []
    return Hostile


def redirecting(target: str) -> Callable[[http.server.BaseHTTPRequestHandler], None]:
    def answer(self: http.server.BaseHTTPRequestHandler) -> None:
        self.send_response(302)
        self.send_header("Location", target)
        self.end_headers()

    return answer


def asking(self: http.server.BaseHTTPRequestHandler) -> None:
    self.send_response(401)
    self.send_header("WWW-Authenticate", 'Basic realm="yours"')
    self.end_headers()


def endless(self: http.server.BaseHTTPRequestHandler) -> None:
    self.send_response(200)
    self.send_header("Content-Type", "application/x-git-upload-pack-advertisement")
    self.end_headers()
    try:
        while True:
            self.wfile.write(b"001e# service=git-upload-pack\n" * 1000)
    except OSError:
        return


def silent(self: http.server.BaseHTTPRequestHandler) -> None:
    self.send_response(200)
    self.end_headers()
    time.sleep(30)


def nonsense(self: http.server.BaseHTTPRequestHandler) -> None:
    self.send_response(200)
    self.send_header("Content-Type", "application/x-git-upload-pack-advertisement")
    self.end_headers()
    self.wfile.write(b"001e# service=git-upload-pack\n0000" + b"\xff" * 100)


def renamed(root: Path, old: str, new: str) -> type[Smart]:
    """A server that answers requests for `old` with the address of `new`."""

    class Renamed(Smart):
        def _answer(self, body: bytes) -> None:
            if not self.path.startswith(f"/{old}/"):
                super()._answer(body)
                return
            self.send_response(301)
            self.send_header("Location", self.path.replace(old, new, 1))
            self.end_headers()

    Renamed.root, Renamed.paths = str(root), []
    return Renamed


def test_a_renamed_repository_is_found_on_its_own_host(served: Path) -> None:
    expected = sutler(served / "work" / "cart", "pack").stdout
    with serving(renamed(served / "bare", "old/cart", "cart")) as url:
        done = sutler(served, "pack", f"{url}/old/cart")
    assert done.returncode == 0, done.stderr
    assert done.stdout == expected


def test_no_redirect_is_followed(tmp_path: Path) -> None:
    inside = smart(tmp_path)
    with (
        serving(inside) as secret,
        serving(hostile(redirecting(f"{secret}/x/y"))) as outside,
        pytest.raises(SutlerError),
    ):
        git_fetch.checkout(Remote(f"{outside}/a/b", "b"), os.environ)
    assert inside.paths == []


@pytest.mark.parametrize("answer", [asking, nonsense, endless, silent, redirecting("file:///etc")])
def test_a_hostile_server_is_bounded(
    answer: Callable[[http.server.BaseHTTPRequestHandler], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_fetch, "SECONDS", 4.0)
    began = time.monotonic()
    with serving(hostile(answer)) as url, pytest.raises(SutlerError) as refusal:
        git_fetch.checkout(Remote(f"{url}/a/b", "b"), os.environ)
    assert time.monotonic() - began < 25
    assert refusal.value.next_step
    assert shelf.shelved(os.environ) == []


def raw_tree(bare: Path, *entries: tuple[str, bytes, str]) -> None:
    """Make HEAD of a bare repository a commit with these raw tree entries."""
    data = b"".join(
        f"{mode} ".encode() + name + b"\0" + bytes.fromhex(digest) for mode, name, digest in entries
    )
    words = ["git", "-C", str(bare), "hash-object", "-t", "tree", "-w", "--stdin", "--literally"]
    tree = subprocess.run(words, input=data, capture_output=True, check=True, timeout=LIMIT)
    commit = git(bare, "commit-tree", "-m", "x", tree.stdout.decode().strip())
    git(bare, "update-ref", "refs/heads/main", commit)


@pytest.mark.parametrize("name", [b"..", b".git", b".GIT", b"a/../../b", b"."])
def test_a_hostile_tree_writes_nothing_outside(served: Path, name: bytes) -> None:
    bare = served / "bare" / "cart"
    blob = git(bare, "rev-parse", "HEAD:README.md")
    raw_tree(bare, ("100644", name, blob))
    done = sutler(served, "pack", f"file://{bare}")
    assert done.returncode in (1, 3), done.stderr + done.stdout
    assert "Traceback" not in done.stderr


def test_hooks_filters_and_configuration_of_the_server_do_not_run(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither hooks of the repository, nor a filter or an ssh command of the user's own settings."""
    trap = served / "trap"
    script = f"#!/bin/sh\ntouch {served}/ran\ncat\n"
    trap.write_text(script)
    trap.chmod(0o755)
    home = served / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        f'[filter "evil"]\n smudge = {trap}\n clean = {trap}\n required = true\n'
        f"[core]\n hooksPath = {served}\n fsmonitor = {trap}\n sshCommand = {trap}\n"
        f"[credential]\n helper = {trap}\n"
    )
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        (served / hook).write_text(script)
        (served / hook).chmod(0o755)
    monkeypatch.setenv("HOME", str(home))
    assert sutler(served, "pack", f"file://{served}/bare/cart").returncode == 0
    assert not (served / "ran").exists()


def test_a_large_fetch_is_stopped(served: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf, "MOST_BYTES", 10)
    with pytest.raises(SutlerError, match="too large"):
        git_fetch.checkout(Remote(f"file://{served}/bare/cart", "cart"), os.environ)
    assert shelf.shelved(os.environ) == []
