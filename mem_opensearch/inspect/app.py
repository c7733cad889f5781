"""The routes of the page, and how each failure is shown."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

import orjson
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from mem_opensearch.errors import (
    AuthenticationError,
    BackendError,
    BackendUnavailable,
    InvalidInputError,
    MemOpenSearchError,
    MemoryNotFoundError,
    PermissionDenied,
)
from mem_opensearch.inspect import asking
from mem_opensearch.inspect.catalogue import LANGUAGES, language_of, sentences_of
from mem_opensearch.inspect.security import Guard
from mem_opensearch.inspect.views import exchanges_of, listing_of
from mem_opensearch.inspect.visible import visible
from mem_opensearch.search.asking import MODES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request

    from mem_opensearch.inspect.inspector import Inspector

_logger = logging.getLogger("mem_opensearch.inspect")
_LANGUAGE_COOKIE: Final = "mem-opensearch-language"
_STATUS: Final[tuple[tuple[type[Exception], int], ...]] = (
    (MemoryNotFoundError, 404),
    (InvalidInputError, 400),
    (BackendUnavailable, 503),
    (AuthenticationError, 502),
    (PermissionDenied, 502),
    (BackendError, 502),
    (MemOpenSearchError, 400),
)

templates = Environment(
    loader=PackageLoader("mem_opensearch.inspect"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
templates.filters["visible"] = visible
templates.filters["json"] = lambda value: orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode()
templates.filters["dict_json"] = lambda value: orjson.dumps(dict(value)).decode()


def make_app(inspector: Inspector, *, token: str, port: int, prefilled: Mapping[str, str] | None = None) -> Starlette:
    """Return the page as an ASGI application.

    Args:
        inspector: what answers.
        token: what lets in, see `security.Guard`.
        port: that it is served at.
        prefilled: user, agent and run that the form begins with.
    """
    routes = [
        Route("/", _shown(_page(inspector, dict(prefilled or {})))),
        Route("/search", _shown(_search(inspector)), methods=["POST"]),
        Route("/rank", _shown(_rank(inspector)), methods=["POST"]),
        Route("/memory", _shown(_memory(inspector)), methods=["POST"]),
        Route("/why", _shown(_why(inspector)), methods=["POST"]),
        Route("/entities", _shown(_entities(inspector)), methods=["POST"]),
        Route("/entity", _shown(_entity(inspector)), methods=["POST"]),
        Route("/health", _shown(_health(inspector)), methods=["POST"]),
        Mount("/static", StaticFiles(packages=[("mem_opensearch.inspect", "static")])),
    ]
    return Starlette(routes=routes, middleware=[Middleware(Guard, token=token, port=port)])


def _page(inspector: Inspector, prefilled: dict[str, str]) -> Callable[[Request], Awaitable[Response]]:
    async def page(request: Request) -> Response:
        chosen = request.query_params.get("lang")
        if chosen is not None and chosen in LANGUAGES:
            answer = RedirectResponse("/", 303)
            answer.set_cookie(_LANGUAGE_COOKIE, chosen, samesite="lax", httponly=True)
            return answer
        return _html(
            request,
            "page.html",
            collection=inspector.collection,
            rerankers=list(inspector.rerankers),
            modes=MODES,
            languages=LANGUAGES,
            prefilled=prefilled,
        )

    return page


def _search(inspector: Inspector) -> Callable[[Request], Awaitable[Response]]:
    async def search(request: Request) -> Response:
        body = asking.SearchBody.read(await _json(request))
        look = await run_in_threadpool(inspector.search, body)
        listing = await run_in_threadpool(listing_of, look, threshold=body.threshold)
        return _html(request, "results.html", listing=listing, look=look)

    return search


def _rank(inspector: Inspector) -> Callable[[Request], Awaitable[Response]]:
    async def rank(request: Request) -> Response:
        body = asking.RankBody.read(await _json(request))
        look = inspector.looks.get(body.look)
        listing = await run_in_threadpool(listing_of, look, threshold=body.threshold, page=body.page)
        return _html(request, "results.html", listing=listing, look=look)

    return rank


def _memory(inspector: Inspector) -> Callable[[Request], Awaitable[Response]]:
    async def memory(request: Request) -> Response:
        body = asking.MemoryBody.read(await _json(request))
        look = inspector.looks.get(body.look)
        found = await run_in_threadpool(inspector.memory, look, body.id, threshold=body.threshold)
        exchanges = await run_in_threadpool(exchanges_of, look, body.id)
        return _html(request, "memory.html", memory=found, exchanges=exchanges, threshold=body.threshold)

    return memory


def _why(inspector: Inspector) -> Callable[[Request], Awaitable[Response]]:
    async def why(request: Request) -> Response:
        body = asking.MemoryBody.read(await _json(request))
        look = inspector.looks.get(body.look)
        told = await run_in_threadpool(inspector.why, look, body.id, threshold=body.threshold)
        return _html(request, "why.html", told=told, threshold=body.threshold, wanted=look.body.top_k)

    return why


def _entities(inspector: Inspector) -> Callable[[Request], Awaitable[Response]]:
    async def entities(request: Request) -> Response:
        body = asking.EntitiesBody.read(await _json(request))
        found, total = await run_in_threadpool(inspector.entities, body)
        pages = max(1, -(-total // asking.PAGE))
        return _html(request, "entities.html", entities=found, total=total, page=body.page, pages=pages)

    return entities


def _entity(inspector: Inspector) -> Callable[[Request], Awaitable[Response]]:
    async def entity(request: Request) -> Response:
        body = asking.EntityBody.read(await _json(request))
        found, memories = await run_in_threadpool(inspector.entity, body)
        return _html(request, "entity.html", entity=found, memories=memories)

    return entity


def _health(inspector: Inspector) -> Callable[[Request], Awaitable[Response]]:
    async def health(request: Request) -> Response:
        return _html(request, "health.html", health=await run_in_threadpool(inspector.health))

    return health


def _shown(handler: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """Show every failure as a sentence; what nobody foresaw is logged by its kind and place, without what it says."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except MemOpenSearchError as error:
            status = next(status for kind, status in _STATUS if isinstance(error, kind))
            return _html(request, "error.html", status, kind=type(error).__name__, sentence=str(error))
        except Exception as error:  # noqa: BLE001 - a trace would hold the question, and memories
            last = error.__traceback__
            while last is not None and last.tb_next is not None:
                last = last.tb_next
            place = "" if last is None else f" at {last.tb_frame.f_code.co_filename}:{last.tb_lineno}"
            _logger.error("%s%s", type(error).__name__, place)  # noqa: TRY400 - see above
            return _html(request, "error.html", 500, kind=type(error).__name__, sentence="")

    return answer


async def _json(request: Request) -> dict[str, Any]:
    """Return the JSON of a request. No form of another site can send such a body without being asked about it first."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise InvalidInputError("the request is not application/json")
    try:
        found = orjson.loads(await request.body())
    except orjson.JSONDecodeError:
        raise InvalidInputError("the request is not JSON") from None
    if not isinstance(found, dict):
        raise InvalidInputError(f"the request is a {type(found).__name__}, expected an object")
    return found


def _html(request: Request, name: str, status: int = 200, **values: Any) -> Response:  # noqa: ANN401 - for templates
    chosen = request.cookies.get(_LANGUAGE_COOKIE, "")
    language = chosen if chosen in LANGUAGES else language_of(request.headers.get("accept-language", ""))
    sentences = sentences_of(language)

    def say(key: str, **filled: object) -> str:
        return sentences[key].format(**filled)

    return HTMLResponse(templates.get_template(name).render(say=say, language=language, **values), status)
