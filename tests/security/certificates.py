"""Certificates for tests: an authority of their own, and all the ways in which a certificate can be wrong."""

from __future__ import annotations

import datetime as dt
import ssl
from pathlib import Path

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NAMES = ("localhost", "127.0.0.1")


class Authority:
    """An authority, and the files of what it signs.

    Args:
        folder: where the files go.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.ca = trustme.CA()
        self.file = str(folder / "ca.pem")
        self.ca.cert_pem.write_to_path(self.file)

    def sign(self, *names: str, name: str = "leaf", **options: object) -> tuple[str, str]:
        """Return the paths of a certificate and its key (PKCS #8, as Java wants it)."""
        leaf = self.ca.issue_cert(*names, common_name=name, **options)
        certificate, key = self.folder / f"{name}.pem", self.folder / f"{name}-key.pem"
        certificate.write_bytes(b"".join(pem.bytes() for pem in leaf.cert_chain_pems))
        loaded = serialization.load_pem_private_key(leaf.private_key_pem.bytes(), None)
        key.write_bytes(_pem(loaded))
        return str(certificate), str(key)


def valid(authority: Authority) -> tuple[str, str]:
    return authority.sign(*NAMES, name="valid")


def expired(authority: Authority) -> tuple[str, str]:
    now = dt.datetime.now(dt.UTC)
    return authority.sign(
        *NAMES, name="expired", not_before=now - dt.timedelta(days=9), not_after=now - dt.timedelta(days=1)
    )


def not_yet_valid(authority: Authority) -> tuple[str, str]:
    now = dt.datetime.now(dt.UTC)
    return authority.sign(
        *NAMES, name="early", not_before=now + dt.timedelta(days=1), not_after=now + dt.timedelta(days=9)
    )


def for_another_name(authority: Authority) -> tuple[str, str]:
    return authority.sign("search.example", name="other")


def of_another_authority(authority: Authority) -> tuple[str, str]:
    return Authority(authority.folder / "other").sign(*NAMES, name="foreign")


def self_signed(authority: Authority) -> tuple[str, str]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    paths = authority.folder / "self.pem", authority.folder / "self-key.pem"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(_pem(key))
    return str(paths[0]), str(paths[1])


def encrypt_key(path: str, password: bytes) -> str:
    """Write a key again, encrypted; return the path."""
    loaded = serialization.load_pem_private_key(Path(path).read_bytes(), None)
    target = f"{path}.encrypted"
    Path(target).write_bytes(_pem(loaded, serialization.BestAvailableEncryption(password)))
    return target


def server_context(certificate: str, key: str, *, clients: str | None = None) -> ssl.SSLContext:
    """Return the TLS side of a server; with `clients`, it wants a certificate that this authority signed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if clients is not None:
        context.load_verify_locations(clients)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _pem(key: object, encryption: serialization.KeySerializationEncryption | None = None) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption or serialization.NoEncryption()
    )
