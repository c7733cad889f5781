"""OpenSearch 2.19.1 with its real security plugin: TLS, users, roles, tokens and client certificates."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import shutil
import socket
import ssl
import tempfile
import time
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path

from certificates import Authority, valid

from mem_opensearch.node.account import give, node_account, temporary_parent
from mem_opensearch.node.artifacts import artifact_file, ensure_artifacts
from mem_opensearch.node.home import ensure_home
from mem_opensearch.node.java import find_java
from mem_opensearch.node.lockfile import Artifact, read_lock
from mem_opensearch.node.places import cache_folder
from mem_opensearch.node.server import Server
from mem_opensearch.node.settings import LOGGING, Member, build_command, build_settings, render_settings

VERSION = "2.19.1"  # the plugin of 3.6 is not published by itself
PLUGIN = Artifact(
    group="org.opensearch.plugin",
    name="opensearch-security",
    version="2.19.1.0",
    packaging="zip",
    sha256="94a04f12ac6033902209fac1e4e512618d45beee604bbf0e42c3ed79c55220cf",
    size=43828219,
    into=("plugins/opensearch-security",),
)
START_SECONDS = 300
TOKEN_KEY = b"a key of the tests, long enough for SHA-512: " + b"x" * 64


def make_token(user: str, key: bytes = TOKEN_KEY) -> str:
    """Return a JSON web token (RFC 7519), signed by HMAC with SHA-512."""

    def encode(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    head = encode(json.dumps({"alg": "HS512", "typ": "JWT"}).encode())
    claims = encode(json.dumps({"sub": user, "exp": int(time.time()) + 3600}).encode())
    signature = hmac.new(key, f"{head}.{claims}".encode(), hashlib.sha512).digest()
    return f"{head}.{claims}.{encode(signature)}"


def _domain(kind: str, order: int, *, backend: str = "noop", challenge: bool = False, **config: object) -> dict:
    return {
        "http_enabled": True,
        "transport_enabled": False,
        "order": order,
        "http_authenticator": {"type": kind, "challenge": challenge, "config": config},
        "authentication_backend": {"type": backend},
    }


class PluginNode:
    """A running node; `stop` ends it, and so does the end of this process.

    Args:
        authority: signs the node's certificate, and those of clients that it trusts.

    Raises:
        JavaError: no Java 17 to 21 is here.
    """

    def __init__(self, authority: Authority) -> None:
        lock, account = read_lock(VERSION), node_account()
        java = find_java(lock, home=None, account=account)
        cache = cache_folder()
        plain = ensure_home(lock, ("ik",), cache=cache, java=java, account=account, quiet=True)
        ensure_artifacts(cache, [PLUGIN], title="security plugin", quiet=True)
        self.authority = authority
        self._folder = Path(tempfile.mkdtemp(prefix="mem-opensearch-secured-", dir=temporary_parent(account)))
        self._folder.chmod(0o755)
        home = self._folder / "home"
        shutil.copytree(plain, home, symlinks=True)
        plugin = home / "plugins" / "opensearch-security"
        with zipfile.ZipFile(artifact_file(cache, PLUGIN)) as archive:
            archive.extractall(plugin)
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            second.bind(("127.0.0.1", 0))
            http, transport = first.getsockname()[1], second.getsockname()[1]
        member = Member(name="node-1", http=http, transport=transport, folder=self._folder / "work")
        self.url = f"https://localhost:{http}"
        self._configure(member, plugin)
        give(self._folder, account)
        command = build_command(member, home=home, lock=lock, java=java, heap="512m", extra=["-XX:TieredStopAtLevel=1"])
        self._server = Server(member, command, account=account)
        self._server.guard(self._folder)
        self._wait()

    def _configure(self, member: Member, plugin: Path) -> None:
        for name in ("config", "data", "logs", "tmp"):
            (member.folder / name).mkdir(parents=True)
        config = member.folder / "config"
        certificate, key = valid(self.authority)
        for source, name in ((self.authority.file, "ca.pem"), (certificate, "node.pem"), (key, "node-key.pem")):
            shutil.copyfile(source, config / name)
        settings = build_settings(member, [member], snapshots=self._folder / "snapshots")
        for layer in ("http", "transport"):
            settings |= {
                f"plugins.security.ssl.{layer}.pemcert_filepath": "node.pem",
                f"plugins.security.ssl.{layer}.pemkey_filepath": "node-key.pem",
                f"plugins.security.ssl.{layer}.pemtrustedcas_filepath": "ca.pem",
            }
        settings |= {
            "plugins.security.ssl.http.enabled": True,
            "plugins.security.ssl.http.clientauth_mode": "OPTIONAL",
            "plugins.security.ssl.transport.enforce_hostname_verification": False,
            "plugins.security.allow_default_init_securityindex": True,
            "plugins.security.restapi.roles_enabled": ["all_access"],
            "plugins.security.nodes_dn": ["*"],
        }
        (config / "opensearch.yml").write_text(render_settings(settings))
        (config / "log4j2.properties").write_text(LOGGING)
        shutil.copytree(plugin / "config", config / "opensearch-security")
        domains = {
            "token": _domain("jwt", 0, signing_key=base64.b64encode(TOKEN_KEY).decode(), jwt_header="Authorization"),
            "certificate": _domain("clientcert", 1, username_attribute="cn"),
            "password": _domain("basic", 2, backend="intern", challenge=True),
        }
        dynamic = {"http": {"anonymous_auth_enabled": False, "xff": {"enabled": False}}, "authc": domains, "authz": {}}
        security = {"_meta": {"type": "config", "config_version": 2}, "config": {"dynamic": dynamic}}
        (config / "opensearch-security" / "config.yml").write_text(json.dumps(security))  # JSON is YAML

    def _wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self.send("GET", "/_cluster/health?wait_for_status=yellow")
            except OSError:  # HTTPError is one: 503 until the plugin has made its index
                self._server.check()
                if time.monotonic() > deadline:
                    self.stop()
                    raise
                time.sleep(0.5)
            else:
                return

    def send(self, method: str, path: str, body: object = None) -> object:
        """Send a request as the plugin's demo administrator."""
        request = urllib.request.Request(self.url + path, method=method)
        request.add_header("Authorization", "Basic " + base64.b64encode(b"admin:admin").decode())
        if body is not None:
            request.add_header("Content-Type", "application/json")
            request.data = json.dumps(body).encode()
        context = ssl.create_default_context(cafile=self.authority.file)
        with urllib.request.urlopen(request, context=context, timeout=60) as answer:
            return json.loads(answer.read())

    def add_role(self, name: str, role: dict) -> None:
        self.send("PUT", f"/_plugins/_security/api/roles/{name}", role)

    def add_user(self, name: str, password: str, *, role: str) -> None:
        user = {"password": password, "opendistro_security_roles": [role]}
        self.send("PUT", f"/_plugins/_security/api/internalusers/{urllib.parse.quote(name)}", user)

    def map_role(self, role: str, *users: str) -> None:
        """Give a role to users that a token or a certificate names."""
        self.send("PUT", f"/_plugins/_security/api/rolesmapping/{role}", {"users": list(users)})

    def stop(self) -> None:
        self._server.end()
        shutil.rmtree(self._folder, ignore_errors=True)
