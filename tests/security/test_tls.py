"""TLS for real: what is trusted, what is not, and what the error says to do."""

import socket
import ssl
import threading
from pathlib import Path

import certificates
import pytest
from certificates import server_context
from gateway import PASSWORD, USER

from mem_opensearch.errors import (
    BackendUnavailable,
    ClientCertificateError,
    ConfigError,
    ExpiredCertificateError,
    HostNameError,
    TLSError,
    UntrustedCertificateError,
)

VECTOR = [1.0, 0.0, 0.0, 0.0]
CONNECTIONS = ["Urllib3HttpConnection", "RequestsHttpConnection"]

FAULTS = [
    (certificates.of_another_authority, UntrustedCertificateError, "authority that signed it in 'ca_certs'"),
    (certificates.self_signed, UntrustedCertificateError, "give it in 'ca_certs'"),
    (certificates.expired, ExpiredCertificateError, "renew it on the server"),
    (certificates.not_yet_valid, ExpiredCertificateError, "mend the clock"),
    (certificates.for_another_name, HostNameError, "the certificate's own names"),
]


@pytest.mark.parametrize("connection_class", CONNECTIONS)
@pytest.mark.parametrize(("make", "error", "mend"), FAULTS, ids=lambda value: getattr(value, "__name__", None))
def test_a_certificate_that_is_not_trusted(
    make, error, mend, connection_class, authority, open_gateway, store_at, opensearch_url
):
    gateway = open_gateway(opensearch_url, context=server_context(*make(authority)))
    options = {"ca_certs": authority.file, "connection_class": connection_class, "user": "u", "password": "hunter2"}
    for call in (
        lambda store: store.insert([VECTOR], [{"data": "a"}], ["1"]),
        lambda store: store.search("a", VECTOR),
        lambda store: store.get("1"),
    ):
        with pytest.raises(error, match=mend) as caught:
            call(store_at(gateway.url, **options))
        assert type(caught.value) is error
        assert f"localhost:{gateway.port}" in str(caught.value)
        assert caught.value.reason
    assert gateway.requests == []


@pytest.mark.parametrize("connection_class", CONNECTIONS)
def test_without_verification_it_works_and_warns(connection_class, authority, open_gateway, store_at, opensearch_url):
    gateway = open_gateway(opensearch_url, context=server_context(*certificates.self_signed(authority)))
    store = store_at(gateway.url, verify_certs=False, connection_class=connection_class)
    with pytest.warns(UserWarning, match="certificate is not checked"):
        store.insert([VECTOR], [{"data": "a"}], ["1"])
    assert store.get("1").payload == {"data": "a"}


@pytest.mark.parametrize("connection_class", CONNECTIONS)
def test_the_usual_authorities_do_not_trust_ours(connection_class, authority, open_gateway, store_at, monkeypatch):
    gateway = open_gateway(context=server_context(*certificates.valid(authority)))
    with pytest.raises(UntrustedCertificateError):
        store_at(gateway.url, connection_class=connection_class).list_cols()
    # Not even when the environment says so to `requests`: the options decide.
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", authority.file)
    with pytest.raises(UntrustedCertificateError):
        store_at(gateway.url, connection_class=connection_class).list_cols()
    monkeypatch.setenv("SSL_CERT_FILE", authority.file)  # OpenSSL's own variable names the usual ones
    store_at(gateway.url, connection_class=connection_class).list_cols()
    assert gateway.requests


@pytest.mark.parametrize("connection_class", CONNECTIONS)
@pytest.mark.parametrize("verify_certs", [True, False])
@pytest.mark.filterwarnings("ignore:verify_certs=False")
def test_a_client_certificate_is_shown(connection_class, verify_certs, authority, open_gateway, store_at):
    gateway = open_gateway(context=server_context(*certificates.valid(authority), clients=authority.file))
    certificate, key = authority.sign("agent.example", name="agent")
    trust = {"ca_certs": authority.file} if verify_certs else {"verify_certs": False}
    options = {"connection_class": connection_class, **trust}
    store_at(gateway.url, client_cert=certificate, client_key=key, **options).list_cols()
    assert {request.subject for request in gateway.requests} == {"agent"}


def test_certificate_and_key_in_one_file(authority, open_gateway, store_at, tmp_path):
    gateway = open_gateway(context=server_context(*certificates.valid(authority), clients=authority.file))
    both = tmp_path / "both.pem"
    both.write_bytes(b"".join(Path(path).read_bytes() for path in authority.sign("a.example", name="agent")))
    store_at(gateway.url, client_cert=str(both), ca_certs=authority.file).list_cols()
    assert gateway.requests[0].subject == "agent"


@pytest.mark.parametrize("connection_class", CONNECTIONS)
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_client_certificate_is_missing_or_refused(connection_class, version, authority, open_gateway, store_at):
    context = server_context(*certificates.valid(authority), clients=authority.file)
    context.minimum_version = context.maximum_version = version
    gateway = open_gateway(context=context)
    options = {"ca_certs": authority.file, "connection_class": connection_class, "max_tries": 10}
    with pytest.raises(ClientCertificateError, match="give 'client_cert' and 'client_key'"):
        store_at(gateway.url, **options).insert([VECTOR], [{"data": "a"}], ["1"])
    foreign, key = certificates.of_another_authority(authority)
    with pytest.raises(ClientCertificateError, match="an authority that the server trusts"):
        store_at(gateway.url, client_cert=foreign, client_key=key, **options).search("a", VECTOR)
    assert gateway.requests == []


@pytest.mark.parametrize("connection_class", CONNECTIONS)
def test_https_to_a_plain_server(connection_class, open_gateway, store_at):
    gateway = open_gateway()
    with pytest.raises(TLSError, match="write http:// if it is a plain server"):
        store_at(gateway.url.replace("http:", "https:"), connection_class=connection_class).search("a", VECTOR)


def test_http_to_a_tls_server(authority, open_gateway, store_at):
    gateway = open_gateway(context=server_context(*certificates.valid(authority)))
    with pytest.raises(BackendUnavailable, match=r"'url' \(http or https\)"):
        store_at(gateway.url.replace("https:", "http:")).search("a", VECTOR)


def test_a_handshake_that_breaks_off_is_tried_again(authority, store_at):
    """Not a wrong certificate but a passing fault: the connection ends in the middle of the handshake."""
    listener = socket.create_server(("127.0.0.1", 0))
    tries = []

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(100)
                tries.append(1)

    threading.Thread(target=serve, daemon=True).start()
    with listener, pytest.raises(BackendUnavailable) as caught:
        store_at(f"https://127.0.0.1:{listener.getsockname()[1]}", ca_certs=authority.file, max_tries=3).get("1")
    assert len(tries) == 3
    assert len(caught.value.tries) == 3


FILES = {
    "no file": ({"ca_certs": "/nowhere/ca.pem"}, "'ca_certs': /nowhere/ca.pem can't be read: No such file"),
    "no certificates": ({"ca_certs": "EMPTY"}, "'ca_certs': .* holds no certificates in PEM form"),
    "no client file": ({"client_cert": "/nowhere/a.pem"}, "'client_cert': /nowhere/a.pem is no file"),
    "no key": ({"client_cert": "CERT"}, "'client_cert': .*in the same file.* can't be used"),
    "another's key": ({"client_cert": "CERT", "client_key": "OTHER"}, "'client_key': .* is not the key of"),
    "an encrypted key": ({"client_cert": "CERT", "client_key": "ENCRYPTED"}, "'client_key' is encrypted"),
    "a key that is none": ({"client_cert": "CERT", "client_key": "EMPTY"}, "'client_cert': .* can't be used"),
}


@pytest.mark.parametrize("connection_class", CONNECTIONS)
@pytest.mark.parametrize(("options", "said"), FILES.values(), ids=FILES)
def test_files_that_cannot_be_used(options, said, connection_class, authority, store_at, tmp_path):
    certificate, key = authority.sign("a.example", name="agent")
    empty = tmp_path / "empty.pem"
    empty.write_text("nothing\n")
    names = {
        "CERT": certificate,
        "OTHER": authority.sign("b.example", name="b")[1],
        "ENCRYPTED": certificates.encrypt_key(key, b"hunter2"),
        "EMPTY": str(empty),
    }
    options = {name: names.get(value, value) for name, value in options.items()}
    with pytest.raises(ConfigError, match=said):
        store_at("https://localhost:1", connection_class=connection_class, **options).get("1")


def test_the_whole_of_a_store_behind_tls_and_password(secured, authority, store_at, collection):
    store = store_at(secured.url, ca_certs=authority.file, user=USER, password=PASSWORD)
    store.insert([VECTOR, [0.0, 1.0, 0.0, 0.0]], [{"data": "臺北的天氣"}, {"data": "上海"}], ["1", "2"])
    assert [hit.id for hit in store.search("x", VECTOR, top_k=1)] == ["1"]
    assert [hit.id for hit in store.keyword_search("台北")] == ["1"]
    store.update("1", payload={"data": "高雄"})
    store.delete("2")
    assert [hit.payload["data"] for hit in store.list()[0]] == ["高雄"]
    assert collection in store.list_cols()
