"""Passwords, keys and tokens behind TLS on the newest server: what reaches it, and what a refusal says."""

import pytest
from certificates import server_context, valid
from gateway import PASSWORD, USER, Users, as_json

from mem_opensearch.errors import AuthenticationError, BackendError, ConfigError, PermissionDenied

VECTOR = [1.0, 0.0, 0.0, 0.0]
CONNECTIONS = ["Urllib3HttpConnection", "RequestsHttpConnection"]

RIGHT = {
    "password": {"user": USER, "password": PASSWORD},
    "pair": {"http_auth": (USER, PASSWORD)},
    "list": {"http_auth": [USER, PASSWORD]},
    "text": {"http_auth": f"{USER}:{PASSWORD}"},
    "key": {"api_key": "geheimer-schluessel"},
    "token": {"bearer_token": "geheimes.token"},
}


@pytest.mark.parametrize("connection_class", CONNECTIONS)
@pytest.mark.parametrize("credentials", RIGHT.values(), ids=RIGHT)
def test_right_credentials(credentials, connection_class, secured, authority, store_at):
    options = {"ca_certs": authority.file, "connection_class": connection_class}
    store = store_at(secured.url, **options, **credentials)
    store.insert([VECTOR], [{"data": "a"}], ["1"])
    assert [hit.id for hit in store.search("a", VECTOR)] == ["1"]


WRONG = {
    "password": {"user": USER, "password": "falsch"},
    "key": {"api_key": "falsch"},
    "token": {"bearer_token": "falsch"},
    "none": {},
}


@pytest.mark.parametrize("credentials", WRONG.values(), ids=WRONG)
def test_wrong_credentials(credentials, secured, authority, store_at):
    store = store_at(secured.url, ca_certs=authority.file, **credentials)
    for call in (lambda: store.insert([VECTOR], [{"data": "a"}], ["1"]), lambda: store.search("a", VECTOR)):
        with pytest.raises(AuthenticationError, match="401: Unauthorized; check the credentials") as caught:
            call()
        assert "falsch" not in str(caught.value)
    assert store.client.requests == 2  # not tried again


def test_a_missing_permission(secured, authority, store_at):
    store_at(secured.url, ca_certs=authority.file, user=USER, password=PASSWORD).insert(
        [VECTOR], [{"data": "a"}], ["1"]
    )
    reader = store_at(secured.url, ca_certs=authority.file, user="leserin", password=PASSWORD)
    assert [hit.id for hit in reader.search("a", VECTOR)] == ["1"]
    with pytest.raises(PermissionDenied, match="lack the permission indices:data/write/bulk"):
        reader.insert([VECTOR], [{"data": "b"}], ["2"])
    with pytest.raises(PermissionDenied, match="lack the permission indices:"):
        reader.update("1", payload={"data": "b"})


UNSIGNED = (AuthenticationError, "give 'aws_region'")
BADLY_SIGNED = (AuthenticationError, "check 'aws_region', 'aws_service', this machine's clock")
AMAZON = {
    "not signed": ("Message", "User: anonymous is not authorized to perform: es:ESHttpGet", *UNSIGNED),
    "nothing at all": ("message", "Missing Authentication Token", *UNSIGNED),
    "bad token": ("message", "The security token included in the request is invalid.", *BADLY_SIGNED),
    "old": ("message", "Signature expired: 20260101T000000Z is now earlier than", *BADLY_SIGNED),
    "wrong region": ("message", "Credential should be scoped to a valid region.", *BADLY_SIGNED),
    "wrong key": ("message", "The request signature we calculated does not match", *BADLY_SIGNED),
    "no right": (
        "Message",
        "User: arn:aws:iam::1:user/x is not authorized to perform: es:ESHttpPost with an explicit deny",
        PermissionDenied,
        "lack the permission es:ESHttpPost",
    ),
}


@pytest.mark.parametrize(("key", "said", "error", "mend"), AMAZON.values(), ids=AMAZON)
def test_a_refusal_of_amazons_gateway(key, said, error, mend, open_gateway, store_at):
    gateway = open_gateway(check=lambda _: as_json({key: said}, 403))
    with pytest.raises(error, match=mend) as caught:
        store_at(gateway.url).search("a", VECTOR)
    assert caught.value.reason == said
    assert len(gateway.requests) == 1


def test_a_serverless_refusal_is_a_permission(open_gateway, store_at):
    answer = {"status": 403, "error": {"type": "Forbidden", "reason": "403 Forbidden"}}
    gateway = open_gateway(check=lambda _: as_json(answer, 403))
    with pytest.raises(PermissionDenied):
        store_at(gateway.url).search("a", VECTOR)


@pytest.mark.parametrize("connection_class", CONNECTIONS)
def test_a_redirect_is_not_followed(connection_class, open_gateway, store_at):
    """Credentials and memories go to the server that was named, and to no other."""
    other = open_gateway()
    first = open_gateway(check=lambda request: (307, {"location": other.url + request.target}, b""))
    store = store_at(first.url, api_key="k", connection_class=connection_class)
    with pytest.raises(BackendError, match="status 307"):
        store.search("a", VECTOR)
    assert other.requests == []


def test_netrc_and_proxies_of_the_environment_are_not_used(open_gateway, store_at, tmp_path, monkeypatch):
    gateway = open_gateway()
    netrc = tmp_path / "netrc"
    netrc.write_text("machine localhost login a password b\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    for connection_class in CONNECTIONS:
        store_at(gateway.url, connection_class=connection_class, api_key="k").list_cols()
    assert {request.headers["authorization"] for request in gateway.requests} == {"ApiKey k"}


@pytest.mark.parametrize("secret", ["geheim\n", "ge\r\nX-Other: 1", "ge heim", "密钥", ""])
def test_a_token_that_no_header_carries_is_refused(secret, store_at):
    for name in ("api_key", "bearer_token"):
        with pytest.raises(ConfigError, match=f"option '{name}': .*no header can carry") as caught:
            store_at("http://localhost:1", **{name: secret})
        assert not secret.strip() or secret.strip() not in str(caught.value)


@pytest.mark.parametrize(("user", "password"), [("a:b", "c"), ("", "c"), ("a\n", "c"), ("a", "c\n")])
def test_names_and_passwords_that_basic_authentication_cannot_carry(user, password, store_at):
    with pytest.raises(ConfigError, match=r"option '(user|password)': (is empty, or )?holds a"):
        store_at("http://localhost:1", user=user, password=password)
    with pytest.raises(ConfigError, match="holds a"):
        store_at("http://localhost:1", http_auth=(user, password))


def test_an_auth_object_is_called_for_each_request(open_gateway, store_at):
    seen = []

    def sign(method, url, body):
        seen.append((method, url, body))
        return {"X-Signed": str(len(seen))}

    gateway = open_gateway()
    store = store_at(gateway.url, http_auth=sign)
    store.list_cols()
    assert [request.headers["x-signed"] for request in gateway.requests] == ["1", "2", "3"]
    assert seen[0][:2] == ("GET", gateway.url + gateway.requests[0].target)


def test_the_gateway_of_these_tests_refuses_by_itself(authority, open_gateway, store_at):
    """A check of the checker: with no user known, nothing passes."""
    gateway = open_gateway(check=Users(), context=server_context(*valid(authority)))
    with pytest.raises(AuthenticationError):
        store_at(gateway.url, ca_certs=authority.file, user=USER, password=PASSWORD).list_cols()
