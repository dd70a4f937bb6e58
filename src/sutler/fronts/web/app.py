"""Routes: requests become values, values become JSON; the rest is in `api` and `guard`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from sutler.errors import ConflictError, SutlerError
from sutler.fronts import bug_report
from sutler.fronts.web.guard import Guard, Keys
from sutler.fronts.web.page_api import PageApi, Settled, Wanted
from sutler.pack.page.html import asset, embedded, page, policy, script
from sutler.secrets.cleaner import redacted_text

LARGEST = 1 << 20
"""Limit of a request in bytes."""

_STATUS = {2: 400, 3: 422, 4: 409, 5: 403}
T = TypeVar("T")
Handler = Callable[[Request], Awaitable[Response]]


class _TooLargeError(Exception):
    pass


def build(api: PageApi, keys: Keys) -> Guard:
    """Return the application behind its guard."""

    async def home(request: Request) -> Response:
        view = await run_in_threadpool(api.view, api.first)
        strict = (
            policy(script(live=True), asset("report.css"), live=True) + "; frame-ancestors 'none'"
        )
        # The form has the redacted goal of the view: the page leaves like any text.
        first = msgspec.structs.replace(api.first, goal=view.goal)
        body = page(view, live=True, first=embedded(first))
        return Response(body, media_type="text/html", headers={"content-security-policy": strict})

    async def pack(request: Request) -> Response:
        return _json(await run_in_threadpool(api.view, await _body(request, Wanted)))

    async def text(request: Request) -> Response:
        return Response(
            await run_in_threadpool(api.text, await _body(request, Wanted)), media_type="text/plain"
        )

    async def approvals(request: Request) -> Response:
        return _json({"waiting": await run_in_threadpool(api.approvals)})

    async def settled(request: Request) -> Response:
        verdict = await _body(request, Settled)
        return _json(await run_in_threadpool(api.settle, request.path_params["id"], verdict))

    async def ledger(request: Request) -> Response:
        before = request.query_params.get("before", "")
        return _json(
            await run_in_threadpool(api.ledger, int(before) if before.isdecimal() else None)
        )

    async def verify(request: Request) -> Response:
        return _json(await run_in_threadpool(api.verify))

    routes = [
        Route("/", _guarded(home), methods=["GET"]),
        Route("/api/pack", _guarded(pack), methods=["POST"]),
        Route("/api/text", _guarded(text), methods=["POST"]),
        Route("/api/approvals", _guarded(approvals), methods=["GET"]),
        Route("/api/approvals/{id}", _guarded(settled), methods=["POST"]),
        Route("/api/ledger", _guarded(ledger), methods=["GET"]),
        Route("/api/verify", _guarded(verify), methods=["GET"]),
    ]
    return Guard(Starlette(routes=routes), keys)


def _guarded(handler: Handler) -> Handler:
    """Return our errors as JSON with a fitting status; unexpected ones reveal nothing else."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except _TooLargeError:
            return _json({"error": {"what": f"a request holds at most {LARGEST:,} bytes"}}, 413)
        except (msgspec.DecodeError, UnicodeDecodeError) as wrong:
            # The page never sends it; a script may.
            return _json({"error": {"what": f"the request cannot be read: {wrong}"[:300]}}, 400)
        except SutlerError as error:
            status = 409 if isinstance(error, ConflictError) else _STATUS.get(error.exit_code, 500)
            parts = {
                "what": redacted_text(error.what),
                "rule": redacted_text(error.rule),
                "next": redacted_text(error.next_step),
            }
            return _json({"error": parts}, status)
        except Exception as fault:
            report = bug_report.explain(["ui", request.url.path], fault)
            bug_report.log(report)
            return _json(
                {"error": {"what": report.what, "rule": report.rule, "next": report.next_step}}, 500
            )

    return answer


async def _body(request: Request, kind: type[T]) -> T:
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise msgspec.DecodeError("the content type is not application/json")
    data = b""
    try:
        async for block in request.stream():
            data += block
            if len(data) > LARGEST:
                raise _TooLargeError
    except ClientDisconnect:
        raise msgspec.DecodeError("the request was broken off") from None
    return msgspec.json.decode(data, type=kind)


def _json(body: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(body), status, media_type="application/json")
