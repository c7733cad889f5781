"""The entry point sets up security or stops, whatever the official image would do. The server is a stand-in."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
import yaml

from .conftest import DOCKER

pytestmark = pytest.mark.unit
GOOD = "Correct-Horse 7\"$x'`"
OFFICIAL = '#!/bin/bash\nenv >"$OPENSEARCH_HOME/environment"\necho "started $*"\n'
# The real one prints warnings too; the "hash" is the password itself, so that a test can see what arrived.
HASHER = (
    '#!/bin/bash\n[ "$1" = -env ] || exit 1\necho "WARNING: none"\necho "\\$2y\\$12\\$$(printenv "$2" | base64 -w0)"\n'
)


@pytest.fixture
def start(tmp_path):
    home = tmp_path / "home"
    files = {
        "opensearch-docker-entrypoint.sh": OFFICIAL,
        "plugins/opensearch-security/tools/hash.sh": HASHER,
        "config/opensearch.yml": "cluster.name: docker-cluster\nnetwork.host: 0.0.0.0\n",
        "config/opensearch-security/internal_users.yml": "readall: {hash: well-known}\n",
        **{f"config/certificates/{name}": name for name in ("ca.pem", "node.pem", "node.key")},
    }
    for name, content in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(content)
        (home / name).chmod(0o755)
    ours = home / "mem-opensearch"
    ours.mkdir()
    for name in ("entrypoint.sh", "security.yml"):
        shutil.copy(DOCKER / name, ours / name)

    def run(**variables: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": os.environ["PATH"], "OPENSEARCH_HOME": str(home)}
        environment |= {"OPENSEARCH_INITIAL_ADMIN_PASSWORD_FILE": str(tmp_path / "secret")} | variables
        return subprocess.run(
            [str(ours / "entrypoint.sh"), "opensearch"], capture_output=True, text=True, env=environment, timeout=30
        )

    run.home = home
    run.secret = tmp_path / "secret"
    return run


def users(start) -> dict:
    return yaml.safe_load((start.home / "config/opensearch-security/internal_users.yml").read_text())


def test_the_only_user_is_admin_with_the_password_of_the_secret(start):
    start.secret.write_text(GOOD)
    done = start()
    assert done.stdout == "started opensearch\n", done.stderr
    known = users(start)
    assert known.keys() == {"_meta", "admin"}
    assert known["admin"]["backend_roles"] == ["admin"]
    encoded = subprocess.run(["base64", "-w0"], input=GOOD + "\n", capture_output=True, text=True).stdout
    assert known["admin"]["hash"] == f"$2y$12${encoded}"


def test_the_official_set_up_is_off_and_the_password_is_not_passed_on(start):
    start(OPENSEARCH_INITIAL_ADMIN_PASSWORD=GOOD)
    environment = (start.home / "environment").read_text()
    assert "DISABLE_INSTALL_DEMO_CONFIG=true" in environment
    assert "Correct-Horse" not in environment


def test_tls_is_set_once_with_the_mounted_certificates(start):
    start(OPENSEARCH_INITIAL_ADMIN_PASSWORD=GOOD)
    start(OPENSEARCH_INITIAL_ADMIN_PASSWORD=GOOD)
    text = (start.home / "config/opensearch.yml").read_text()
    assert text.count("plugins.security.ssl.http.enabled") == 1
    settings = yaml.safe_load(text)
    assert settings["cluster.name"] == "docker-cluster"
    assert settings["plugins.security.ssl.http.enabled"] is True
    for layer in ("http", "transport"):
        for key in ("pemcert_filepath", "pemkey_filepath", "pemtrustedcas_filepath"):
            assert (start.home / "config" / settings[f"plugins.security.ssl.{layer}.{key}"]).is_file()
    assert not any("demo" in key or "audit" in key for key in settings)


@pytest.mark.parametrize(
    "password",
    ["Short-7", "all-lower-case-7", "ALL-UPPER-CASE-7", "No-Digit-Anywhere", "NothingElse77", "Long-7" + "x" * 70],
)
def test_a_weak_password_stops_it(start, password):
    done = start(OPENSEARCH_INITIAL_ADMIN_PASSWORD=password)
    assert done.returncode == 78
    assert "12 to 72 bytes" in done.stderr
    assert password not in done.stderr
    assert "started" not in done.stdout
    assert "readall" in users(start)  # nothing was written


def test_no_password_stops_it(start):
    done = start()
    assert (done.returncode, done.stdout) == (78, "")
    assert "set OPENSEARCH_INITIAL_ADMIN_PASSWORD" in done.stderr


def test_a_missing_certificate_stops_it(start):
    (start.home / "config/certificates/node.key").unlink()
    done = start(OPENSEARCH_INITIAL_ADMIN_PASSWORD=GOOD)
    assert done.returncode == 78
    assert "node.key can't be read; docker/certificates.sh makes it" in done.stderr


def test_a_password_that_can_not_be_hashed_stops_it(start):
    (start.home / "plugins/opensearch-security/tools/hash.sh").write_text("#!/bin/bash\nexit 1\n")
    done = start(OPENSEARCH_INITIAL_ADMIN_PASSWORD=GOOD)
    assert (done.returncode, done.stdout) == (78, "")


def test_security_is_off_only_when_told_and_says_so(start):
    done = start(DISABLE_SECURITY_PLUGIN="true")
    assert done.stdout == "started opensearch\n"
    assert "security is off" in done.stderr
    assert "plugins.security" not in (start.home / "config/opensearch.yml").read_text()
    assert start(DISABLE_SECURITY_PLUGIN="yes").returncode == 78  # not the word: security stays on
