"""The compose file keeps what docs/docker.md promises. No engine is needed: the file is read."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest
from packaging.requirements import Requirement

from mem_opensearch.node.lockfile import DEFAULT_VERSION

from .conftest import DOCKER, ROOT

pytestmark = pytest.mark.unit
DOCS = (ROOT / "docs" / "docker.md").read_text(encoding="utf-8")


def compose_program() -> list[str] | None:
    """Docker Compose 2, as a plugin or on its own."""
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]):
            done = subprocess.run([*command, "version", "--short"], capture_output=True, text=True)
            if done.returncode == 0 and done.stdout.strip().lstrip("v").startswith(("2.", "5.")):
                return command
    return None


def servers(compose):
    return {name: service for name, service in compose["services"].items() if name != "certificates"}


def test_every_server_is_checked_limited_and_bounded(compose):
    assert set(servers(compose)) == {"opensearch", "opensearch-dev", "elasticsearch"}
    for name, service in servers(compose).items():
        assert service["healthcheck"]["test"][:2] == ["CMD", "curl"], name
        assert "--fail" in service["healthcheck"]["test"], name
        assert service["mem_limit"] == "${OPENSEARCH_MEMORY:-2g}", name
        assert service["ulimits"]["memlock"] == {"soft": -1, "hard": -1}, name
        assert service["ulimits"]["nofile"]["hard"] >= 65536, name
        assert service["environment"]["bootstrap.memory_lock"] == "true", name
        data = [volume for volume in service["volumes"] if volume.endswith("/data")]
        assert [volume.split(":")[0] in compose["volumes"] for volume in data] == [True], name


def test_the_one_shot_service_ends_before_the_server_starts(compose):
    certificates = compose["services"]["certificates"]
    assert certificates["restart"] == "no"
    assert certificates["mem_limit"]
    assert certificates["network_mode"] == "none"
    condition = compose["services"]["opensearch"]["depends_on"]["certificates"]["condition"]
    assert condition == "service_completed_successfully"


def test_no_port_is_published_beyond_this_machine(compose):
    published = [port for service in compose["services"].values() for port in service.get("ports", ())]
    assert len(published) == 3
    for port in published:
        assert re.fullmatch(r"127\.0\.0\.1:\$\{\w+:-\d+\}:9200", port), port
    assert len(set(published)) == 3  # all can run at once
    assert not any(service.get("network_mode") == "host" for service in compose["services"].values())


def test_security_is_on_unless_a_profile_is_named(compose):
    secured = compose["services"]["opensearch"]
    assert "profiles" not in secured
    assert not any("DISABLE" in key or "security" in key for key in secured["environment"])
    assert any("https://" in word for word in secured["healthcheck"]["test"])
    assert "--cacert" in secured["healthcheck"]["test"]
    assert not {"--insecure", "-k"} & set(secured["healthcheck"]["test"])
    assert compose["services"]["opensearch-dev"]["profiles"] == ["dev"]
    assert compose["services"]["opensearch-dev"]["environment"]["DISABLE_SECURITY_PLUGIN"] == "true"
    assert compose["services"]["elasticsearch"]["profiles"] == ["elasticsearch"]
    assert compose["services"]["elasticsearch"]["environment"]["xpack.security.enabled"] == "false"


def test_the_password_comes_from_the_environment_and_has_no_default(compose):
    assert compose["secrets"] == {"opensearch_admin_password": {"environment": "OPENSEARCH_INITIAL_ADMIN_PASSWORD"}}
    (secret,) = compose["services"]["opensearch"]["secrets"]
    assert secret == {"source": "opensearch_admin_password", "mode": 0o444}  # the server's account can read it
    for name, service in compose["services"].items():
        assert not any("PASSWORD" in key.upper() for key in service.get("environment", {})), name
    assert "/run/secrets/opensearch_admin_password" in (DOCKER / "entrypoint.sh").read_text()
    assert ".env" in (DOCKER / ".gitignore").read_text().splitlines()


def test_the_server_never_sees_the_key_of_the_authority(compose):
    holders = {
        name
        for name, service in compose["services"].items()
        if any(volume.startswith("authority:") for volume in service.get("volumes", ()))
    }
    assert holders == {"certificates"}
    assert "certificates:/usr/share/opensearch/config/certificates:ro" in compose["services"]["opensearch"]["volumes"]


def test_the_default_version_is_the_local_nodes(compose):
    for name in ("opensearch", "opensearch-dev"):
        service = compose["services"][name]
        assert service["image"] == f"mem-opensearch:${{OPENSEARCH_VERSION:-{DEFAULT_VERSION}}}"
        assert service["build"]["args"]["OPENSEARCH_VERSION"] == f"${{OPENSEARCH_VERSION:-{DEFAULT_VERSION}}}"
        assert (DOCKER / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
    assert f"| `OPENSEARCH_VERSION` | `{DEFAULT_VERSION}` |" in DOCS


def test_the_elasticsearch_version_is_one_that_the_extra_speaks_to(compose):
    version = re.search(r"-(\d[\d.]+)\}$", compose["services"]["elasticsearch"]["image"]).group(1)
    line = re.search(r'^elasticsearch = \["(.+?)"\]', (ROOT / "pyproject.toml").read_text(), flags=re.MULTILINE).group(
        1
    )
    assert version in Requirement(line).specifier
    assert f"`{version}`" in DOCS


def test_the_docs_name_what_is_there(compose):
    text = (DOCKER / "compose.yaml").read_text(encoding="utf-8")
    ours = r"\b(?:OPENSEARCH|ELASTICSEARCH)_(?:INITIAL\w+|MEMORY|HEAP|PORT|DEV_PORT|NAMES|VERSION)\b"
    assert set(re.findall(ours, DOCS)) == set(re.findall(ours, text))
    for default in ("9200", "9201", "9202"):
        assert f"localhost:{default}" in DOCS
        assert f":-{default}" in text
    for name in servers(compose):
        assert f"`{name}`" in DOCS
    for target in re.findall(r"`((?:docker|mem_opensearch|scripts)/[\w./-]+)`", DOCS):
        assert (ROOT / target).exists() or target in {"docker/.env", "docker/ik/user.dic"}, target


@pytest.mark.parametrize("profile", [None, "dev", "elasticsearch"])
def test_docker_compose_accepts_it(profile):
    program = compose_program()
    if program is None:
        pytest.skip("no Docker Compose 2 on this machine")
    flags = ["--profile", profile] if profile else []
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("OPENSEARCH", "ELASTICSEARCH", "COMPOSE"))}
    done = subprocess.run(
        [*program, "--file", str(DOCKER / "compose.yaml"), *flags, "config", "--services"],
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    extra = {None: set(), "dev": {"opensearch-dev"}, "elasticsearch": {"elasticsearch"}}[profile]
    assert set(done.stdout.split()) == {"certificates", "opensearch"} | extra
