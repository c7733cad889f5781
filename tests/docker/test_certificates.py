"""The certificates are such that a strict client verifies the server, and they are renewed in time."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import stat
import subprocess
import threading

import pytest

from .conftest import DOCKER

pytestmark = [
    pytest.mark.unit,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl here; the image has one"),
]


@pytest.fixture
def make(tmp_path):
    def run(names: str = "") -> str:
        environment = os.environ | {
            "AUTHORITY_FOLDER": str(tmp_path / "authority"),
            "CERTIFICATES_FOLDER": str(tmp_path / "certificates"),
            "EXTRA_NAMES": names,
            "OWNER": "",
        }
        done = subprocess.run(
            [str(DOCKER / "certificates.sh")], capture_output=True, text=True, env=environment, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stderr

    run.folder = tmp_path / "certificates"
    run.authority = tmp_path / "authority"
    return run


def strict_context(ca) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=ca)
    context.verify_flags |= ssl.VERIFY_X509_STRICT  # Python's own default from 3.13 on
    return context


def shake_hands(folder, name: str, ca) -> str:
    """Connect to a TLS server that has the certificates, and return what it says."""
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(folder / "node.pem", folder / "node.key")
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(10)

    def serve() -> None:
        try:
            raw, _ = listener.accept()
            with raw, server_side.wrap_socket(raw, server_side=True) as connection:
                connection.sendall(b"hello")
        except (OSError, ssl.SSLError):
            pass  # the client did not trust it, and says so in the test

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with (
            socket.create_connection(listener.getsockname(), timeout=10) as raw,
            strict_context(ca).wrap_socket(raw, server_hostname=name) as connection,
        ):
            return connection.recv(5).decode()
    finally:
        thread.join()
        listener.close()


def test_a_strict_client_verifies_the_server_by_each_of_its_names(make):
    make()
    for name in ("localhost", "127.0.0.1", "::1", "opensearch"):
        assert shake_hands(make.folder, name, make.folder / "ca.pem") == "hello", name


def test_other_names_are_refused_until_they_are_asked_for(make):
    make()
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        shake_hands(make.folder, "search.example.org", make.folder / "ca.pem")
    make("DNS:search.example.org")
    assert shake_hands(make.folder, "search.example.org", make.folder / "ca.pem") == "hello"


def test_another_authority_is_not_trusted(make, tmp_path):
    make()
    old = (make.folder / "ca.pem").rename(tmp_path / "old.pem")
    shutil.rmtree(make.authority)
    assert "making a node certificate" in make()  # of the new authority, though the old one had not ended
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(make.folder, "localhost", old)
    assert shake_hands(make.folder, "localhost", make.folder / "ca.pem") == "hello"


def test_a_second_run_changes_nothing(make):
    make()
    before = {path.name: path.read_bytes() for path in make.folder.iterdir()}
    assert "good for 60 days" in make()
    assert {path.name: path.read_bytes() for path in make.folder.iterdir()} == before


def test_a_certificate_that_ends_soon_is_made_anew_by_the_same_authority(make):
    make()
    authority = (make.folder / "ca.pem").read_bytes()
    request = make.folder / "soon.csr"
    new = f"req -new -key {make.folder}/node.key -subj /CN=mem-opensearch-node -out {request}"
    sign = f"x509 -req -in {request} -CA {make.authority}/ca.pem -CAkey {make.authority}/ca.key -set_serial 7 -days 59"
    for command in (new, f"{sign} -out {make.folder}/soon.pem"):
        subprocess.run(["openssl", *command.split()], check=True, capture_output=True)
    soon = (make.folder / "soon.pem").rename(make.folder / "node.pem").read_bytes()
    assert "making a node certificate" in make()
    assert (make.folder / "node.pem").read_bytes() != soon
    assert (make.folder / "ca.pem").read_bytes() == authority
    assert shake_hands(make.folder, "localhost", make.folder / "ca.pem") == "hello"


def test_a_run_that_was_broken_off_is_mended(make):
    make()
    (make.folder / "node.pem").unlink()
    make()
    assert shake_hands(make.folder, "localhost", make.folder / "ca.pem") == "hello"


def test_keys_are_for_their_owners_eyes(make):
    make()
    for key in (make.folder / "node.key", make.authority / "ca.key"):
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert not (make.folder / "ca.key").exists()
    assert stat.S_IMODE((make.folder / "ca.pem").stat().st_mode) == 0o644
