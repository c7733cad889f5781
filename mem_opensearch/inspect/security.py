"""Let in only this machine's own browser with the page's token, and let the page load nothing from elsewhere."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOSTS: Final = frozenset({"127.0.0.1", "localhost"})
"""Names that a request may be for. Any other name that resolves to this machine is somebody else's page."""
METHODS: Final = frozenset({"GET", "HEAD", "POST"})
MOST_BYTES: Final = 100_000
"""Of the body of a request; a question and a scope are short."""

HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """What every request passes first.

    A request for `/?token=...` with the right token gets a cookie and is sent to `/`, so that the token leaves the
    address bar. All others need the cookie. The cookie is for one port: browsers don't tell ports apart.

    Args:
        app: what answers the others.
        token: what lets in.
        port: of the server; names the cookie.
    """

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self._app = app
        self._token = token.encode()
        self._cookie = f"mem-opensearch-inspect-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        answer = self._refusal(scope)
        await (answer or self._app)(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if (refusal := _refused_whoever_asks(scope["method"], headers)) is not None:
            return refusal
        given = QueryParams(scope["query_string"]).get("token")
        if scope["path"] == "/" and given is not None and self._is_token(given):
            answer = RedirectResponse("/", 303)
            # Lax: with Strict, a browser that was opened by another program would not send it after the redirection.
            answer.set_cookie(self._cookie, self._token.decode(), httponly=True, samesite="lax", path="/")
            return answer
        if self._is_token(cookie_parser(headers.get("cookie", "")).get(self._cookie, "")):
            return None
        return PlainTextResponse(
            "The token is missing or wrong: open the address that `mem-opensearch inspect` printed, whole.", 403
        )

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(errors="replace"), self._token)


def _refused_whoever_asks(method: str, headers: Headers) -> Response | None:
    """Return why a request is refused, whatever token it has; None where it is not."""
    if _host_of(headers.get("host", "")) not in HOSTS:
        return PlainTextResponse("this page is for this machine only: open it as http://127.0.0.1", 421)
    if method not in METHODS:
        return PlainTextResponse("this page only reads", 405, headers={"allow": "GET, HEAD, POST"})
    origin = headers.get("origin")
    if origin is not None and origin != f"http://{headers.get('host')}":
        return PlainTextResponse("a page of another origin may not ask this one", 403)
    size = headers.get("content-length", "0")
    if "transfer-encoding" in headers or not size.isdecimal() or int(size) > MOST_BYTES:
        return PlainTextResponse(f"a request has at most {MOST_BYTES:,} bytes, and says how many", 413)
    return None


def _host_of(header: str) -> str | None:
    """Return the name in a header ``Host``; None where it is none.

    >>> _host_of("127.0.0.1:8080"), _host_of("[")
    ('127.0.0.1', None)
    """
    try:
        return urlsplit(f"//{header}").hostname
    except ValueError:
        return None
