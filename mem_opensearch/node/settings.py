"""Write what a server of this version needs to be told: its settings, its logging and its command line."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mem_opensearch.errors import ConfigError
from mem_opensearch.models import NATIVE_ATTRIBUTE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mem_opensearch.node.java import Java
    from mem_opensearch.node.lockfile import Lock

LOOPBACK = "127.0.0.1"
CLUSTER_NAME = "mem-opensearch"
LOG_FILE = "node.log"
CONSOLE_FILE = "console.log"
UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
SMALLEST_HEAP = 128 << 20  # below, it ends while it starts

LOGGING = f"""\
status = error
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = ${{sys:opensearch.logs.base_path}}${{sys:file.separator}}{LOG_FILE}
appender.file.filePattern = ${{sys:opensearch.logs.base_path}}${{sys:file.separator}}{LOG_FILE}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = [%d{{ISO8601}}][%-5p][%c{{1.}}] [%node_name]%marker %m%n
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 16MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 2
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
logger.deprecation.name = deprecation
logger.deprecation.level = error
"""


@dataclass(frozen=True, slots=True)
class Member:
    """One server of a node.

    Attributes:
        name: ``node-1``, ``node-2`` and so on.
        http: port for requests.
        transport: port for the other servers.
        folder: its own folder, with ``config``, ``data``, ``logs`` and ``tmp``.
    """

    name: str
    http: int
    transport: int
    folder: Path

    @property
    def url(self) -> str:
        """Where it answers requests."""
        return f"http://{LOOPBACK}:{self.http}"


def heap_bytes(heap: str) -> int:
    """Bytes of a heap size such as ``512m`` or ``1g``.

    Raises:
        ConfigError: when it is not of that form, or too small to start with.

    >>> heap_bytes("512m")
    536870912
    """
    found = re.fullmatch(r"([1-9]\d*)([kmg])", str(heap).lower())
    if found is None:
        raise ConfigError(f"heap {heap!r} is not a size; write a whole number and m or g, such as '512m' or '1g'")
    size = int(found[1]) * UNITS[found[2]]
    if size < SMALLEST_HEAP:
        raise ConfigError(f"heap {heap!r} is too small for OpenSearch; give at least {SMALLEST_HEAP >> 20}m")
    return size


def build_settings(member: Member, members: Sequence[Member], *, snapshots: Path) -> dict[str, object]:
    """The settings of one server.

    Args:
        member: the server.
        members: all servers, itself included.
        snapshots: folder for snapshot repositories, shared by all.
    """
    settings: dict[str, object] = {
        "cluster.name": CLUSTER_NAME,
        "node.name": member.name,
        "network.host": LOOPBACK,
        "http.port": member.http,
        "transport.port": member.transport,
        "path.data": str(member.folder / "data"),
        "path.logs": str(member.folder / "logs"),
        "path.repo": [str(snapshots)],
        # A laptop's disk is often 95 % full; the node would turn indices read-only.
        "cluster.routing.allocation.disk.threshold_enabled": False,
        # The breaker for real memory counts on a collector that runs ahead. With a small heap Java takes the serial
        # one: once its old generation is full, the node refuses all requests for good, since none of them allocates.
        "indices.breaker.total.use_real_memory": False,
        f"node.attr.{NATIVE_ATTRIBUTE}": "false",
    }
    if len(members) == 1:
        settings["discovery.type"] = "single-node"
    else:
        settings["discovery.seed_hosts"] = [f"{LOOPBACK}:{each.transport}" for each in members]
        settings["cluster.initial_cluster_manager_nodes"] = [each.name for each in members]
    return settings


def render_settings(settings: Mapping[str, object]) -> str:
    """The text of an ``opensearch.yml``: JSON values are YAML, whatever a path holds."""
    return "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in settings.items())


def build_command(
    member: Member, *, home: Path, lock: Lock, java: Java, heap: str, extra: Sequence[str] = ()
) -> list[str]:
    """The command line that starts one server; `extra` are flags of the user, which win over ours."""
    temporary = member.folder / "tmp"
    flags = [
        f"-Xms{heap}",
        f"-Xmx{heap}",
        f"-XX:MaxDirectMemorySize={heap_bytes(heap) // 2}",
        "-Xss1m",
        "-XX:+UseSerialGC",  # least memory and threads; a small heap is collected in milliseconds
        "-XX:+ExitOnOutOfMemoryError",
        "-XX:-OmitStackTraceInFastThrow",
        "-XX:-UsePerfData",
        f"-XX:ErrorFile={member.folder / 'logs' / 'hs_err.log'}",
        "-Djava.awt.headless=true",
        "-Dfile.encoding=UTF-8",
        f"-Djava.io.tmpdir={temporary}",
        f"-Djna.tmpdir={temporary}",
        "-Djna.nosys=true",
        "-Dio.netty.noUnsafe=true",
        "-Dio.netty.noKeySetOptimization=true",
        "-Dio.netty.recycler.maxCapacityPerThread=0",
        "-Dio.netty.allocator.numDirectArenas=0",
        "-Dlog4j.shutdownHookEnabled=false",
        "-Dlog4j2.disable.jmx=true",
        "-Dlog4j2.formatMsgNoLookups=true",
        f"-Djava.locale.providers=SPI,{'COMPAT' if lock.security_policy else 'CLDR'}",
        "-Dopensearch.distribution.type=tar",
        f"-Dopensearch.path.home={home}",
        f"-Dopensearch.path.conf={member.folder / 'config'}",
    ]
    if lock.security_policy:
        flags.append("-Djava.security.manager=allow")
    if java.vectors and not lock.security_policy:  # 3.x computes distances with SIMD instructions through it
        flags.append("--add-modules=jdk.incubator.vector")
    return [java.command, *flags, *extra, "-cp", f"{home}/lib/*", "org.opensearch.bootstrap.OpenSearch"]
