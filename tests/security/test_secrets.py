"""Nothing that is said, logged or raised holds a secret or a memory's text."""

import base64
import json
import logging
import traceback
import warnings

import botocore.auth
import opensearchpy  # noqa: F401 - so that its loggers exist before they are listened to
import pytest
import requests  # noqa: F401
from certificates import server_context, valid
from gateway import as_json
from pydantic import ValidationError

from mem_opensearch.client.echo import without_echo
from mem_opensearch.config import StoreConfig
from mem_opensearch.errors import ConfigError, MemOpenSearchError

USER, PASSWORD = "agent", "Hunter2-geheimes-Passwort"
PAIR = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
API_KEY, TOKEN = "api-key-sehr-geheim", "bearer.token.sehr.geheim"
AWS_SECRET, AWS_TOKEN = "aws-secret-sehr-geheim", "aws-session-token-sehr-geheim"
SECRETS = (PASSWORD, PAIR, API_KEY, TOKEN, AWS_SECRET, AWS_TOKEN)
TEXTS = ("絕密的病歷記錄", "绝密的病历记录", "StreptococcusNotes", "裴若谷", "私密问题")
MARKS = (*SECRETS, *TEXTS)
MEMORY = "絕密的病歷記錄 StreptococcusNotes 裴若谷 2026"
QUESTION = "私密问题：裴若谷的病歷 StreptococcusNotes"
VECTOR = [0.123456789, 0.0, 0.0, 1.0]


class Listener(logging.Handler):
    """Keep all records of all loggers, whatever their level and wherever they go."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.said = []

    def emit(self, record):
        text = record.getMessage()
        if record.exc_info:
            text += "".join(traceback.format_exception(*record.exc_info))
        self.said.append(f"{record.name}: {text} {record.__dict__}")


@pytest.fixture
def listener(monkeypatch):
    heard = Listener()
    names = [
        *logging.root.manager.loggerDict,
        "opensearch",
        "opensearchpy",
        "opensearchpy.trace",
        "urllib3",
        "requests",
    ]
    loggers = [
        logging.root,
        *(logging.getLogger(name) for name in [*names, "botocore", "botocore.auth", "mem_opensearch"]),
    ]
    for logger in loggers:
        monkeypatch.setattr(logger, "level", logging.DEBUG)
        monkeypatch.setattr(logger, "disabled", False)
        logger.manager._clear_cache()
        logger.addHandler(heard)  # to each: some don't pass their records on
    yield heard
    for logger in loggers:
        logger.removeHandler(heard)
    logging.root.manager._clear_cache()


def shown(error):
    """Return all that an exception says, to a reader and to a program."""
    own = [str(error), repr(error), repr(error.args), repr(vars(error)), repr(getattr(error, "__notes__", ""))]
    return "\n".join([*own, *traceback.format_exception(error)])


def attempt(call, errors):
    try:
        call()
    except MemOpenSearchError as error:
        errors.append(error)


def use(store, errors):
    """Do everything with a store that may succeed or fail."""
    row = {"data": MEMORY, "user_id": "u", "note": {"裴若谷": QUESTION}}
    for call in (
        lambda: store.insert([VECTOR, VECTOR], [row, {"data": MEMORY}], ["1", "2"]),
        lambda: store.search(QUESTION, VECTOR, filters={"user_id": "u", "note": QUESTION}),
        lambda: store.search_batch([QUESTION] * 2, [VECTOR] * 2, filters={"note": {"contains": QUESTION}}),
        lambda: store.keyword_search(QUESTION),
        lambda: store.update("1", payload=row),
        lambda: store.get("1"),
        store.list,
        store.list_cols,
        store.col_info,
        lambda: store.delete("2"),
        lambda: store.insert([[float("nan")] * 4], [row], ["3"]),
        lambda: store.insert([VECTOR], [{"data": {MEMORY}}], ["4"]),
        lambda: store.search(QUESTION, [1.0]),
        # What the store itself never sends, so that the server speaks of values:
        lambda: store.client.request(
            "PUT", f"/{store.collection_name}/_doc/9", body={"vector": MEMORY, "text": MEMORY}
        ),
        lambda: store.client.request("PUT", f"/{store.collection_name}/_doc/9", body={"created_at": QUESTION}),
        lambda: store.client.request(
            "POST", f"/{store.collection_name}/_search", body={"query": {"range": {"created_at": {"gte": QUESTION}}}}
        ),
        lambda: store.client.request("POST", "/_search", body={"query": {"query_string": {"query": f"({QUESTION}"}}}),
        lambda: store.client.request("POST", "/_search", body={QUESTION: {"a": MEMORY}}),
        lambda: store._search_all([{"query": {"range": {"created_at": {"gte": QUESTION}}}}] * 2),
        lambda: store._search_all([{"query": {"term": {"vector": TEXTS[3]}}}] * 2),
    ):
        attempt(call, errors)


def echo(status, content_type="text/html"):
    """A proxy that shows the whole request on its error page."""

    def reply(request):
        page = (
            f"<html><h1>Error {status}</h1><pre>{request.headers}\n{request.body.decode(errors='replace')}</pre></html>"
        )
        return status, {"content-type": content_type}, page.encode()

    return reply


def quote(request):
    """A server that quotes the request in the reason of an error."""
    reason = f"failed to parse [{request.body.decode(errors='replace')[:300]}] of {request.headers['authorization']}"
    cause = {"type": "illegal_argument_exception", "reason": "裴若谷" if "裴若谷".encode() in request.body else ""}
    error = {"type": "parsing_exception", "reason": reason, "caused_by": cause}
    return as_json({"error": {**error, "root_cause": [error]}, "status": 400}, 400)


CREDENTIALS = {
    "password": {"user": USER, "password": PASSWORD},
    "key": {"api_key": API_KEY},
    "token": {"bearer_token": TOKEN},
    "signature": {"aws_region": "eu-west-1"},
}
CHECKS = {
    "fine": None,
    "page 418": echo(418),
    "page 502": echo(502),
    "page 200": echo(200),
    "page of no type": echo(500, "application/json"),
    "quoted": quote,
    "unauthorised": lambda request: (401, {}, b"Unauthorized " + request.headers["authorization"].encode()),
    "throttled": lambda _: as_json({}, 429),
}


CASES = [
    *((who, check, "Urllib3HttpConnection") for who in ("password", "signature") for check in CHECKS),
    *((who, check, "Urllib3HttpConnection") for who in ("key", "token") for check in ("page 418", "quoted")),
    *(("password", check, "RequestsHttpConnection") for check in ("fine", "page 418", "unauthorised")),
    ("signature", "page 418", "RequestsHttpConnection"),
]


@pytest.mark.parametrize(("who", "check", "connection_class"), CASES)
def test_logs_errors_and_output(
    who, check, connection_class, opensearch_url, authority, open_gateway, store_at, listener, monkeypatch, capfd
):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", AWS_SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", AWS_TOKEN)
    gateway = open_gateway(opensearch_url, context=server_context(*valid(authority)))
    options = {"ca_certs": authority.file, "connection_class": connection_class, "max_tries": 2, **CREDENTIALS[who]}
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        store = store_at(gateway.url, **options)
        store.create_col()
        gateway.check = CHECKS[check]
        errors = []
        use(store, errors)
        use(store_at("https://localhost:1", **options), errors)  # nobody there
        use(store_at(gateway.url, **(options | {"ca_certs": None})), errors)  # not trusted
        gateway.check = None
        store.delete_col()
    sent = b"".join(request.body for request in gateway.requests).decode()
    assert all(
        text in sent for text in ("StreptococcusNotes", "绝密" if False else "裴若谷")
    )  # so there was something to hide
    assert len(errors) > 40
    assert len(listener.said) > 40
    said = {
        "logs": "\n".join(listener.said),
        "errors": "\n".join(map(shown, errors)),
        "warnings": "\n".join(str(each.message) for each in warned),
        "output": "".join(capfd.readouterr()),
        "objects": "\n".join(map(repr, (store.config, store.client, store.client.transport, store))),
    }
    for place, text in said.items():
        for mark in MARKS:
            found = text.find(mark)
            assert found < 0, f"{mark!r} is in the {place}: {text[max(0, found - 300) : found + 100]}"


def test_the_listener_hears_what_it_should(listener):
    """A check of the checker: botocore's own signing is heard, and is what the signer must silence."""
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    request = AWSRequest("GET", "https://localhost/", headers={})
    botocore.auth.SigV4Auth(Credentials("AKID", AWS_SECRET, AWS_TOKEN), "es", "eu-west-1").add_auth(request)
    assert AWS_TOKEN in "\n".join(listener.said)


class Signer:
    def __init__(self, key):
        self.key = key

    def __call__(self, method, url, body):
        return {}

    def __repr__(self):
        return f"Signer({self.key})"


@pytest.mark.parametrize(
    "options",
    [
        {"user": USER, "password": PASSWORD},
        {"http_auth": (USER, PASSWORD)},
        {"http_auth": f"{USER}:{PASSWORD}"},
        {"api_key": API_KEY},
        {"bearer_token": TOKEN},
        {"http_auth": Signer(API_KEY)},
    ],
    ids=str,
)
def test_a_configuration_shows_no_secret(options):
    config = StoreConfig.build(url="https://search.example", **options)
    said = [repr(config), str(config), config.model_dump_json(), json.dumps(config.model_dump(mode="json"))]
    if not isinstance(options.get("http_auth"), Signer):  # in a dump of Python objects it is itself
        said.append(str(config.model_dump()))
    for text in said:
        assert not any(mark in text for mark in SECRETS)


WRONG = {
    "unknown": {"passwrd": PASSWORD},
    "of another type": {"password": [PASSWORD], "user": USER},
    "beside a wrong one": {"user": USER, "password": PASSWORD, "port": "x"},
    "without a user": {"password": PASSWORD},
    "twice": {"user": USER, "password": PASSWORD, "api_key": API_KEY},
    "in the URL": {"url": f"https://{USER}:{PASSWORD}@search.example"},
    "in a URL that is none": {"url": f"ftp://{USER}:{PASSWORD}@search.example"},
    "in a URL with a bad port": {"url": f"https://{USER}:{PASSWORD}@search.example:port"},
    "in a host": {"host": f"https://{USER}:{PASSWORD}@search.example"},
    "in one of several": {"url": ["https://a", f"//{USER}:{PASSWORD}@b"]},
    "unencrypted": {"url": "http://search.example", "bearer_token": TOKEN},
    "with a line break": {"api_key": f"{API_KEY}\n"},
    "a pair of three": {"http_auth": (USER, PASSWORD, "x")},
    "a pair that is a dict": {"http_auth": {USER: PASSWORD}},
    "for the local node": {"url": "local", "user": USER, "password": PASSWORD},
}


@pytest.mark.parametrize("options", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize(
    "build", [StoreConfig, StoreConfig.build, lambda **options: StoreConfig.model_validate(options)]
)
def test_a_wrong_configuration_shows_no_secret(options, build):
    with pytest.raises((ConfigError, ValidationError)) as caught:
        build(**options)
    text = shown(caught.value)
    assert not any(mark in text for mark in SECRETS), text


@pytest.mark.parametrize("options", WRONG.values(), ids=WRONG)
def test_a_wrong_environment_shows_no_secret(options, monkeypatch):
    for name, value in options.items():
        monkeypatch.setenv(f"MEM_OPENSEARCH_{name.upper()}", value if isinstance(value, str) else json.dumps(value))
    try:
        said = repr(StoreConfig.build())  # some are fine as text, and what is unknown there is not ours
    except ConfigError as error:
        said = shown(error)
    assert not any(mark in said for mark in SECRETS), said


@pytest.mark.parametrize(
    ("said", "sent", "left"),
    [
        ("no such index [memories]", {"query": {"match": {"text": "memory"}}}, "no such index [memories]"),
        ("bad value [裴若谷] in [user_id]", {"user_id": "裴若谷"}, "bad value [...] in [user_id]"),
        ('For input string: "ab"', {"n": "ab"}, 'For input string: "..."'),
        ("cut off: '我住在臺北的大", {"data": "我住在臺北的大安區"}, "cut off: '..."),
        ("<h1>Bad</h1> patient has diabetes", {"data": "The patient has diabetes."}, "<h1>Bad</h1>..."),
        ("row [7] of [idx]", {"_id": "7", "index": "idx"}, "row [7] of [idx]"),
    ],
)
def test_what_is_taken_out_of_a_servers_words(said, sent, left):
    assert without_echo(said, json.dumps(sent).encode()) == left
    lines = json.dumps({"index": {}}).encode() + b"\n" + json.dumps(sent, ensure_ascii=False).encode() + b"\n"
    assert without_echo(said, lines) == left


def test_a_body_that_is_no_json_is_treated_as_text():
    assert "geheim" not in without_echo("bad: very geheim text", b"very geheim text")
    assert without_echo("fine", None) == "fine"
