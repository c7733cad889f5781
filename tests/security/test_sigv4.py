"""Requests signed by AWS Signature Version 4, computed again on the receiving side."""

import datetime as dt
import gzip
import hashlib
import json
import sys

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials, RefreshableCredentials
from botocore.exceptions import CredentialRetrievalError
from gateway import as_json

from mem_opensearch.client.auth import AwsSigner
from mem_opensearch.errors import AuthenticationError, ConfigError, MissingExtraError

VECTOR = [1.0, 0.0, 0.0, 0.0]
KEY, SECRET, TOKEN = "AKIDEXAMPLE", "wJalrXUtnFEMI-geheim", "session-token-geheim"
REGION = "eu-central-1"
CONNECTIONS = ["Urllib3HttpConnection", "RequestsHttpConnection"]


@pytest.fixture
def keys(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", TOKEN)


def compute(request, port, *, service, credentials):
    """Return the Authorization header that this request should have, from what arrived and nothing else."""
    sent = request.headers["authorization"]
    signed = sent.partition("SignedHeaders=")[2].partition(",")[0].split(";")
    again = AWSRequest(
        request.method,
        f"http://localhost:{port}{request.target}",
        headers={name: request.headers[name] for name in signed},
        data=request.body,
    )
    again.context["timestamp"] = request.headers["x-amz-date"]
    signer = SigV4Auth(credentials, service, REGION)
    canonical = signer.canonical_request(again)
    signature = signer.signature(signer.string_to_sign(again, canonical), again)
    return f"AWS4-HMAC-SHA256 Credential={signer.scope(again)}, SignedHeaders={';'.join(signed)}, Signature={signature}"


def check(request, port, *, service="es", credentials=None):
    credentials = credentials or Credentials(KEY, SECRET, TOKEN)
    headers = request.headers
    assert headers["authorization"] == compute(request, port, service=service, credentials=credentials)
    assert headers["x-amz-content-sha256"] == hashlib.sha256(request.body).hexdigest()
    assert headers["x-amz-security-token"] == credentials.token
    signed = headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
    assert {"host", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token"} <= set(signed)


@pytest.mark.parametrize("connection_class", CONNECTIONS)
@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("service", ["es", "aoss", None])
def test_every_request_of_a_store(keys, service, compress, connection_class, opensearch_url, open_gateway, store_at):
    gateway = open_gateway(opensearch_url)
    options = {"connection_class": connection_class, "http_compress": compress}
    store = store_at(gateway.url, aws_region=REGION, aws_service=service, **options)
    store.insert([VECTOR], [{"data": "臺北 a+b", "user_id": "u"}], ["編號/1 +%&=?#ü"])
    assert store.search("x", VECTOR)[0].id == "編號/1 +%&=?#ü"
    assert store.get("編號/1 +%&=?#ü").payload["data"] == "臺北 a+b"
    store.keyword_search("臺北")
    store.list_cols()  # has a wildcard in its parameters
    store.delete("編號/1 +%&=?#ü")
    assert {request.method for request in gateway.requests} >= {"GET", "PUT", "POST", "DELETE"}
    for request in gateway.requests:
        check(request, gateway.port, service=service or "es")
        if compress and request.body:
            assert request.headers["content-encoding"] == "gzip"
            json.loads(gzip.decompress(request.body).split(b"\n")[0])


def test_a_retried_request_is_signed_anew(keys, open_gateway, store_at, monkeypatch):
    answers = iter([as_json({}, 503), as_json({}, 429)])
    moments = iter(range(60))
    monkeypatch.setattr(
        "botocore.auth.get_current_datetime",
        lambda **_: dt.datetime(2026, 11, 30, 12, 0, next(moments), tzinfo=dt.UTC),
    )
    gateway = open_gateway(check=lambda _: next(answers, None))
    store_at(gateway.url, aws_region=REGION).client.request("POST", "/_x", body={"a": 1})
    assert len(gateway.requests) == 3
    for request in gateway.requests:
        check(request, gateway.port)
    assert len({request.headers["authorization"] for request in gateway.requests}) == 3
    assert len({request.headers["x-amz-date"] for request in gateway.requests}) == 3


def refreshable(refresh, *, seconds_left):
    ends = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=seconds_left)
    return RefreshableCredentials("OLD", "old-geheim", "old-token", ends, refresh, "test")


def test_credentials_that_end_are_renewed(open_gateway, store_at, monkeypatch):
    calls = []

    def refresh():
        calls.append(1)
        ends = dt.datetime.now(dt.UTC) + dt.timedelta(hours=1)
        return {"access_key": KEY, "secret_key": SECRET, "token": TOKEN, "expiry_time": ends.isoformat()}

    ending = refreshable(refresh, seconds_left=-1)
    monkeypatch.setattr("botocore.session.Session.get_credentials", lambda self: ending)
    gateway = open_gateway()
    client = store_at(gateway.url, aws_region=REGION).client
    client.request("GET", "/")
    client.request("GET", "/")
    for request in gateway.requests:
        check(request, gateway.port)
    assert calls == [1]


@pytest.mark.parametrize("connection_class", CONNECTIONS)
def test_credentials_that_cannot_be_renewed(connection_class, open_gateway, store_at, monkeypatch):
    def refresh():
        raise CredentialRetrievalError(provider="test", error_msg="geheim")

    ending = refreshable(refresh, seconds_left=-1)
    monkeypatch.setattr("botocore.session.Session.get_credentials", lambda self: ending)
    gateway = open_gateway()
    store = store_at(gateway.url, aws_region=REGION, connection_class=connection_class)
    with pytest.raises(AuthenticationError, match="AWS credentials can't be refreshed") as caught:
        store.search("a", VECTOR)
    assert "geheim" not in str(caught.value)
    assert gateway.requests == []


def test_no_credentials_are_found(store_at, monkeypatch, tmp_path):
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(ConfigError, match="no AWS credentials are found: set AWS_ACCESS_KEY_ID"):
        store_at("http://localhost:1", aws_region=REGION).get("1")
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(ConfigError, match=r"no AWS credentials are found \(.*nobody.*\)"):
        store_at("http://localhost:1", aws_region=REGION).get("1")


def test_a_profile_is_used(store_at, open_gateway, monkeypatch, tmp_path):
    file = tmp_path / "credentials"
    file.write_text("[work]\naws_access_key_id = PROFILE\naws_secret_access_key = s\naws_session_token = t\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    monkeypatch.setenv("AWS_PROFILE", "work")
    gateway = open_gateway()
    store_at(gateway.url, aws_region=REGION).client.request("GET", "/")
    check(gateway.requests[0], gateway.port, credentials=Credentials("PROFILE", "s", "t"))


def test_without_botocore_the_extra_is_named(store_at, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "botocore"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "botocore", None)
    with pytest.raises((MissingExtraError, ImportError), match=r"mem-opensearch\[aws\]"):
        AwsSigner(REGION, "es")
