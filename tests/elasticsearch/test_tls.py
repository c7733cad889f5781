"""TLS, client certificates and forks through the official client; the server only says that it is Elasticsearch."""

from __future__ import annotations

import multiprocessing
import sys
from pathlib import Path

import elasticsearch
import pytest
from pytest_httpserver import HTTPServer

sys.path.insert(0, str(Path(__file__).parents[1] / "security"))  # `certificates` of the security tests

import certificates
from gateway import Gateway

from mem_opensearch.client import open_client
from mem_opensearch.config import StoreConfig
from mem_opensearch.errors import (
    ClientCertificateError,
    ConfigError,
    ExpiredCertificateError,
    UntrustedCertificateError,
)

PRODUCT = {"X-Elastic-Product": "Elasticsearch"}
pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return certificates.Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def serve():
    """Start servers of the client's own version behind TLS; give their URL."""
    started = []

    def start(context=None):
        server = HTTPServer(host="127.0.0.1", ssl_context=context)
        server.start()
        started.append(server)
        about = {"version": {"number": elasticsearch.__versionstr__}}
        server.expect_request("/").respond_with_json(about, headers=PRODUCT)
        server.expect_request("/c/_count").respond_with_json({"count": 3}, headers=PRODUCT)
        return f"{'https' if context else 'http'}://localhost:{server.port}"

    yield start
    for server in started:
        server.clear()
        server.stop()


def count(url, **options):
    config = StoreConfig.build(engine="elasticsearch", url=url, max_tries=2, **options)
    with open_client(config, config.urls) as client:
        return client.request("GET", "/c/_count")["count"]


def test_a_server_of_a_trusted_authority(serve, authority):
    url = serve(certificates.server_context(*certificates.valid(authority)))
    assert count(url, ca_certs=authority.file, user="u", password="密") == 3


@pytest.mark.parametrize(
    ("make", "error", "mend"),
    [
        (certificates.of_another_authority, UntrustedCertificateError, "authority that signed it in 'ca_certs'"),
        (certificates.expired, ExpiredCertificateError, "renew it on the server"),
    ],
)
def test_a_certificate_that_is_not_trusted(serve, authority, make, error, mend):
    url = serve(certificates.server_context(*make(authority)))
    with pytest.raises(error, match=mend):
        count(url, ca_certs=authority.file)


def test_without_verification_it_works_and_warns(serve, authority):
    url = serve(certificates.server_context(*certificates.self_signed(authority)))
    with pytest.warns(UserWarning, match="certificate is not checked"):
        assert count(url, verify_certs=False) == 3


def test_a_client_certificate(serve, authority):
    certificate, key = authority.sign("agent", name="agent")
    context = certificates.server_context(*certificates.valid(authority), clients=authority.file)
    with Gateway(serve(), context=context) as gateway:  # which ends a handshake with an alert, as servers do
        url = gateway.url
        assert count(url, ca_certs=authority.file, client_cert=certificate, client_key=key) == 3
        with pytest.raises(ClientCertificateError, match="it wants a client certificate: give 'client_cert'"):
            count(url, ca_certs=authority.file)
        with pytest.raises(ConfigError, match="'client_key': /nowhere is no file"):
            count(url, ca_certs=authority.file, client_cert=certificate, client_key="/nowhere")


def _count_in_child(client, results):
    try:
        results.put(client.request("GET", "/c/_count")["count"])
    except ConfigError as error:
        results.put(str(error))


def _in_a_child(client):
    fork = multiprocessing.get_context("fork")
    results = fork.Queue()
    child = fork.Process(target=_count_in_child, args=(client, results))
    child.start()
    answer = results.get(timeout=60)
    child.join(60)
    return answer


def test_a_child_process_has_connections_of_its_own(serve):
    url = serve()
    config = StoreConfig.build(engine="elasticsearch", url=url)
    with open_client(config, config.urls) as client:
        assert client.request("GET", "/c/_count")["count"] == 3
        assert _in_a_child(client) == 3
        assert client.request("GET", "/c/_count")["count"] == 3
    given = elasticsearch.Elasticsearch(url)
    with open_client(StoreConfig.build(client=given), []) as client:
        assert client.request("GET", "/c/_count")["count"] == 3
        assert "made before this process was forked" in _in_a_child(client)
    given.close()
