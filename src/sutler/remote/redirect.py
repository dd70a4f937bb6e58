"""The new address of a renamed repository, from its own host.

git follows no redirect here: it would follow one to any host, private addresses included. A rename
on the same host is requested separately and must keep the same scheme, host and port."""

from __future__ import annotations

from http.client import HTTPException, HTTPMessage
from typing import IO
from urllib.error import HTTPError
from urllib.parse import urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

SECONDS = 20.0
_QUESTION = "/info/refs?service=git-upload-pack"


class _Unfollowed(HTTPRedirectHandler):
    """Raises a redirect as an error instead of following it."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        del req, fp, code, msg, headers, newurl


def opener() -> OpenerDirector:
    """Return an opener of URLs that follows no redirect."""
    return build_opener(_Unfollowed)


def new_address(url: str) -> str:
    """Return the address to which a repository was renamed on its own host, or ""."""
    if urlsplit(url).scheme not in ("http", "https"):
        return ""
    question = url.rstrip("/") + _QUESTION
    try:
        opener().open(question, timeout=SECONDS).close()
    except HTTPError as answer:
        target = answer.headers.get("Location", "") if 300 <= answer.code < 400 else ""
        answer.close()
    except (OSError, HTTPException, ValueError):
        return ""  # no answer: git gives the message that people know
    else:
        return ""
    target = urljoin(question, target)
    same = urlsplit(target)[:2] == urlsplit(url)[:2]
    return target.removesuffix(_QUESTION) if same and target.endswith(_QUESTION) else ""
