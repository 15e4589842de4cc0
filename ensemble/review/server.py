"""The review page, served to this machine only.

    with listening(0) as socket:
        serve(session, socket, retrainer)          until Ctrl-C
        address(socket, token)                     "http://127.0.0.1:40123/#token"

The token follows the `#` of the address, a part that no browser sends; the page reads it there and sends it in a header
with each request, which no page of another origin can do. Requests must name this machine as their host, so no foreign
domain leads here (DNS rebinding). Only the kind and place of errors are logged, and nothing is cached.
"""

from __future__ import annotations

import hmac
import logging
import secrets
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

import msgspec

from phistack.ensemble.review.decisions import Change
from phistack.ensemble.review.retraining import Retrainer
from phistack.ensemble.review.session import Session
from phistack.ensemble.tools.templates import template
from phistack.features.errors import CorpusError, PhistackError, SettingsError, place_of

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST, TOKEN_HEADER = "127.0.0.1", "x-phistack-token"

_LOG = logging.getLogger("phistack")
_LONGEST = 2**22
_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "frame-ancestors 'none'",  # the rest is in the page, with the digest of its script
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
_NO_TOKEN = "this address lacks its token, or has an old one; open the address that phistack review printed"
_NO_HOST = "this page answers only under the address that phistack review printed"
_Sent = TypeVar("_Sent")


class _Edit(msgspec.Struct, frozen=True):
    kind: str
    changes: tuple[Change, ...]
    seconds: float


class _Finish(msgspec.Struct, frozen=True):
    seconds: float
    done: bool = True


@contextmanager
def listening(port: int) -> Iterator[socket.socket]:
    """A socket of this machine alone; :raises SettingsError: if the port is taken; 0 is any that is free."""
    with socket.socket() as opened:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            opened.bind((HOST, port))
            opened.listen()
        except (OSError, OverflowError):
            raise SettingsError(f"the port {port} cannot be used; give another with --port, or none") from None
        yield opened


def address(opened: socket.socket, token: str) -> str:
    """The address to open in a browser."""
    return f"http://{HOST}:{opened.getsockname()[1]}/#{token}"


def serve(session: Session, opened: socket.socket, retrainer: Retrainer | None, told: Callable[[str], None]) -> None:
    """Serve the page until a signal ends it; :param told: receives the address."""
    token = secrets.token_urlsafe(24)
    told(address(opened, token))
    server_of(application(session, retrainer, token, opened.getsockname()[1])).run(sockets=[opened])


def server_of(app: ASGIApp) -> uvicorn.Server:
    """The server of an application; it logs nothing, as its messages would hold the text of errors."""
    import uvicorn

    quiet = uvicorn.Config(app, access_log=False, log_level="critical", server_header=False, ws="none", lifespan="off")
    return uvicorn.Server(quiet)


def application(session: Session, retrainer: Retrainer | None, token: str, port: int) -> ASGIApp:
    """The application; every answer to a request without the token is the page, which holds no note, or a refusal."""
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.responses import HTMLResponse, JSONResponse
    from starlette.routing import Route

    async def page(request: Request) -> Response:
        return HTMLResponse(template("phistack.ensemble.review", "review_template.html").render())

    async def state(request: Request) -> Response:
        scheme = session.decisions.scheme
        entries = [
            {
                "number": number,
                "id": session.entries[number].document.id,
                "again": session.entries[number].again,
                "state": session.state(number),
            }
            for number in session.order
        ]
        used = Counter(s.label for outlook in session.outlooks for s in outlook.suggestions)
        labels = sorted(scheme.categories.items(), key=lambda item: -used[item[0]])
        return JSONResponse({"labels": labels, "entries": entries, "trains": retrainer is not None})

    async def status(request: Request) -> Response:
        figures = session.status()
        if retrainer is not None:
            figures |= await run_in_threadpool(retrainer.status)
        return JSONResponse(figures)

    async def note(request: Request) -> Response:
        return JSONResponse(session.opened(request.path_params["number"]))

    async def edit(request: Request) -> Response:
        sent = await _body(request, _Edit)
        session.edit(request.path_params["number"], sent.kind, sent.changes, sent.seconds)
        return JSONResponse({})

    async def finish(request: Request) -> Response:
        sent = await _body(request, _Finish)
        session.finish(request.path_params["number"], sent.seconds, sent.done)
        return JSONResponse({})

    async def train(request: Request) -> Response:
        if retrainer is None:
            raise SettingsError("there is no engine to train again; start with one")
        retrainer.start()
        return JSONResponse({})

    routes = [
        Route("/", page),
        Route("/api/state", state),
        Route("/api/status", status),
        Route("/api/notes/{number:int}", note),
        Route("/api/notes/{number:int}/edit", edit, methods=["POST"]),
        Route("/api/notes/{number:int}/finish", finish, methods=["POST"]),
        Route("/api/train", train, methods=["POST"]),
    ]
    return _Guard(
        Starlette(routes=routes, exception_handlers={PhistackError: _refused, Exception: _failed}), token, port
    )


async def _refused(request: Request, error: Exception) -> Response:
    from starlette.responses import JSONResponse

    return JSONResponse({"error": str(error)}, 409 if isinstance(error, CorpusError) else 400)


async def _failed(request: Request, error: Exception) -> Response:
    from starlette.responses import JSONResponse

    reason = f"internal error, {type(error).__name__} in {place_of(error)}"
    _LOG.error("%s", reason)
    return JSONResponse({"error": reason}, 500)


async def _body(request: Request, kind: type[_Sent]) -> _Sent:
    """What the page sent; :raises CorpusError: if it is too long or of another form."""
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > _LONGEST:
            raise CorpusError("what the page sent is too long; reload it")
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise CorpusError(
            "what the page sent has another form than this version of phistack knows; reload it"
        ) from None


class _Guard:
    """Lets requests through that have the right host and, except for the page itself, the token."""

    def __init__(self, app: Starlette, token: str, port: int) -> None:
        self._app, self._token = app, token.encode()
        self._hosts = {f"{name}:{port}".encode() for name in (HOST, "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from starlette.responses import JSONResponse

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
            await send(message)

        async def refuse(status: int, reason: str) -> None:
            await JSONResponse({"error": reason}, status)(scope, receive, guarded)

        headers = dict(scope["headers"])
        if headers.get(b"host") not in self._hosts:
            return await refuse(421, _NO_HOST)
        if scope["path"] != "/" and not hmac.compare_digest(headers.get(TOKEN_HEADER.encode(), b""), self._token):
            return await refuse(403, _NO_TOKEN)
        # Starlette raises an error again after its answer, for the server to log with its text.
        with suppress(Exception):
            await self._app(scope, receive, guarded)
