"""What a serverless vector search collection takes: routes, parameters and bodies."""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

INDEX = r"[^/_][^/]*"
NAME = r"[^/]+"


@dataclass(frozen=True)
class Route:
    """One kind of request that is taken.

    Attributes:
        kind: what it is, for the rules of its parameters and its body.
        methods: of HTTP.
        pattern: of the whole path.
        writes: whether it changes something.
    """

    kind: str
    methods: str
    pattern: str
    writes: bool = False


# "Supported operations and plugins in Amazon OpenSearch Serverless", without what is for search collections only
# (documents under ids of one's own, `_update`), and without points in time, which older collections lack.
ROUTES = (
    Route("create", "PUT", rf"/{INDEX}", writes=True),
    Route("describe", "GET HEAD", rf"/{INDEX}"),
    Route("describe", "GET", rf"/{INDEX}/_(mapping|mappings|setting|settings)"),
    Route("describe", "GET", r"/_(mapping|mappings)"),
    Route("describe", "GET", rf"/_resolve/index/{NAME}"),
    Route("describe", "GET", r"/_cat/(indices|aliases|templates)"),
    Route("delete", "DELETE", rf"/{INDEX}/_doc/{NAME}", writes=True),
    Route("index", "POST", rf"/{INDEX}/_doc", writes=True),
    Route("bulk", "POST", rf"(/{INDEX})?/_bulk", writes=True),
    Route("get", "GET HEAD", rf"/{INDEX}/_(doc|source)/{NAME}"),
    Route("get", "GET POST", rf"(/{INDEX})?/_mget"),
    Route("analyze", "GET POST", rf"(/{INDEX})?/_analyze"),
    Route("search", "GET POST", rf"(/{INDEX})?/_(search|count|field_caps|rank_eval)"),
    Route("search", "GET POST", rf"/{INDEX}/_explain/{NAME}"),
    Route("msearch", "GET POST", rf"(/{INDEX})?/_msearch"),
    Route("update_index", "PUT POST", rf"/{INDEX}/_(mapping|mappings|setting|settings)", writes=True),
    Route("delete_index", "DELETE", rf"/{INDEX}", writes=True),
    Route("alias", "POST", r"/_aliases", writes=True),
    Route("alias", "GET HEAD", rf"(/{INDEX})?/_alias(/{NAME})?"),
    Route("alias", "PUT POST DELETE", rf"/{INDEX}/_(alias|aliases)/{NAME}", writes=True),
    Route("template", "GET HEAD", rf"/_(index|component)_template(/{NAME})?"),
    Route("put_template", "PUT POST", rf"/_(index|component)_template/{NAME}", writes=True),
    Route("template", "DELETE", rf"/_(index|component)_template/{NAME}", writes=True),
)

# Parameters of writes were reported to be refused but for `timeout`; those of the others are kept to the plainest.
PARAMS = {
    "bulk": {"timeout"},
    "index": {"timeout"},
    "delete": {"timeout"},
    "get": {"_source", "_source_includes", "_source_excludes"},
    "search": {"allow_no_indices", "ignore_unavailable"},
    "msearch": set[str](),
    "describe": {"format"},
}
FIXED_SETTINGS = ("number_of_shards", "number_of_replicas", "refresh_interval")
TOKENIZERS_ABSENT = ("ik_smart", "ik_max_word", "ik_memory")
NOT_IN_SEARCHES = ("script", "script_score", "script_fields", "_script", "pit")


REASON_ID = "Document ID is not supported in create/index operation request"
REASON_UPDATE = "Document ID is not supported in update operation request"  # this wording is a guess


class RefusedError(Exception):
    """A request that the service would not take.

    Args:
        status: of HTTP.
        kind: the error's type; with an empty one the answer has no body, as the service answers unknown paths.
        reason: why.
    """

    def __init__(self, status: int, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.status, self.kind, self.reason = status, kind, reason

    def body(self) -> bytes:
        """Return the body of the answer."""
        if not self.kind:
            return b""
        error: dict[str, Any] = {"reason": self.reason, "type": self.kind}
        if self.kind != "Forbidden":
            error = {"root_cause": [dict(error)], **error}
        return json.dumps({"status": self.status, "request-id": str(uuid.uuid4()), "error": error}).encode()


def check_route(method: str, path: str) -> Route:
    """Return what kind of request it is."""
    for route in ROUTES:
        if method in route.methods.split() and re.fullmatch(route.pattern, path):
            return route
    if re.fullmatch(rf"/{INDEX}/_(doc|create)/{NAME}", path) and method in {"PUT", "POST"}:
        raise RefusedError(400, "illegal_argument_exception", REASON_ID)
    raise RefusedError(404, "", "no such operation")


def check_params(route: Route, params: dict[str, str]) -> None:
    """Refuse a refresh, and parameters that a kind of request was never seen to take."""
    policy = params.get("refresh")
    if policy not in {None, "false"}:
        raise RefusedError(400, "status_exception", f"{policy or 'true'} refresh policy is not supported.")
    unknown = sorted(set(params) - PARAMS.get(route.kind, set()) - {"refresh"})
    if unknown:
        raise RefusedError(400, "illegal_argument_exception", f"request contains unrecognized parameter: {unknown}")


def check_body(route: Route, body: bytes) -> None:
    """Refuse scripts, points in time, other engines than faiss, and settings that the service keeps to itself."""
    if body and route.kind in {"search", "msearch"}:
        for line in body.splitlines() if route.kind == "msearch" else [body]:
            for key, _ in _items(json.loads(line)):
                if key in NOT_IN_SEARCHES:
                    raise RefusedError(400, "illegal_argument_exception", f"[{key}] is not supported")
    if body and route.kind in {"create", "put_template", "update_index", "analyze"}:
        for key, value in _items(json.loads(body)):
            _check_setting(key.split(".")[-1], value)


def _check_setting(key: str, value: object) -> None:
    if key in FIXED_SETTINGS:
        raise RefusedError(400, "illegal_argument_exception", f"unknown setting [index.{key}]")
    if key == "engine" and value != "faiss":
        raise RefusedError(400, "mapper_parsing_exception", f"Invalid engine [{value}] for vector search: use [faiss]")
    if value in TOKENIZERS_ABSENT:
        raise RefusedError(400, "illegal_argument_exception", f"failed to find global tokenizer under [{value}]")


def translate_request(route: Route, body: bytes, *, delay: float) -> bytes:
    """Return the body as the node takes it: lucene for faiss, and with the interval at which writes become visible."""
    if route.kind not in {"create", "put_template"} or (not body and route.kind != "create"):
        return body
    content = json.loads(body or b"{}")
    _replace(content, "faiss", "lucene")
    if route.kind == "create":
        content.setdefault("settings", {})["index.refresh_interval"] = f"{max(1, int(delay * 1000))}ms"
    return json.dumps(content).encode()


def translate_answer(route: Route, body: bytes) -> bytes:
    """Return an answer about indices as the service would give it."""
    if route.kind not in {"describe", "template"} or not body.startswith(b"{"):
        return body
    content = json.loads(body)
    _replace(content, "lucene", "faiss")
    return json.dumps(content).encode()


def actions_of(body: bytes) -> Iterator[tuple[str, dict[str, Any], list[bytes]]]:
    """Yield (verb, metadata, lines) of a bulk body."""
    lines = iter(body.splitlines(keepends=True))
    for line in lines:
        ((verb, about),) = json.loads(line).items()
        yield verb, about, [line] if verb == "delete" else [line, next(lines)]


def _items(node: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield key, value if isinstance(value, str | int | float) else None
            yield from _items(value)
    elif isinstance(node, list):
        for value in node:
            yield from _items(value)


def _replace(node: Any, old: str, new: str) -> None:
    """Change the engine of every vector field, and no other string."""
    if isinstance(node, dict):
        if node.get("engine") == old and "space_type" in node:
            node["engine"] = new
        for value in node.values():
            _replace(value, old, new)
    elif isinstance(node, list):
        for value in node:
            _replace(value, old, new)
