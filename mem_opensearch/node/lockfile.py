"""Read the lock files: which published files make up a node of one version.

A lock names each file by its Maven coordinates, size and SHA-256 sum, and says where in the node's home it goes. The
locks are made by ``scripts/relock VERSION`` and are never written at run time.
"""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import dataclass
from importlib import resources
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from mem_opensearch.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

DEFAULT_VERSION = "3.6.0"
ANALYSIS_PLUGINS = {"ik": "analysis-ik", "smartcn": "analysis-smartcn"}
"""What an analysis option is called -> the plugin that brings it, under the name it has on any cluster."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """One published file.

    Attributes:
        group: Maven group, such as ``org.opensearch``.
        name: Maven artifact id.
        version: version of the artifact.
        packaging: ``jar`` or ``zip`` (a zip is unpacked).
        sha256: sum of the file, in hex.
        size: bytes.
        into: where it goes: ``lib``, ``modules/<name>``, ``plugins/<name>`` or ``compiler``.
    """

    group: str
    name: str
    version: str
    packaging: str
    sha256: str
    size: int
    into: tuple[str, ...]

    @property
    def filename(self) -> str:
        """``<name>-<version>.<packaging>``."""
        return f"{self.name}-{self.version}.{self.packaging}"

    @property
    def path(self) -> PurePosixPath:
        """The path below any Maven repository, and below the cache folder."""
        return PurePosixPath(*self.group.split("."), self.name, self.version, self.filename)


@dataclass(frozen=True, slots=True)
class Module:
    """A part of the server that its published jar does not describe.

    Attributes:
        name: folder below ``modules/``.
        classname: the plugin class.
        extends: modules whose classes it sees.
    """

    name: str
    classname: str
    extends: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lock:
    """All that makes up a node of one version.

    Attributes:
        version: version of OpenSearch.
        java_min: oldest Java that runs it.
        java_max: newest Java that runs it, or None when no limit is known.
        java_target: class file level of plugins compiled for it.
        security_policy: whether modules need a ``plugin-security.policy`` (2.x).
        modules: parts of the server.
        artifacts: files.
        digest: SHA-256 of the lock file itself, in hex.
    """

    version: str
    java_min: int
    java_max: int | None
    java_target: int
    security_policy: bool
    modules: tuple[Module, ...]
    artifacts: tuple[Artifact, ...]
    digest: str

    def left_out(self, analysis: Iterable[str]) -> frozenset[str]:
        """The places that a node with these analysis options does not have."""
        chosen = {ANALYSIS_PLUGINS[option] for option in analysis}
        return frozenset(f"plugins/{plugin}" for plugin in ANALYSIS_PLUGINS.values() if plugin not in chosen)

    def needed(self, analysis: Iterable[str]) -> tuple[Artifact, ...]:
        """The files for a node with these analysis options."""
        left_out = self.left_out(analysis)
        return tuple(artifact for artifact in self.artifacts if set(artifact.into) - left_out)


@functools.cache
def known_versions() -> tuple[str, ...]:
    """The versions that have a lock file, newest first."""
    names = [entry.name.removesuffix(".json") for entry in _folder().iterdir() if entry.name.endswith(".json")]
    return tuple(sorted(names, key=lambda name: [int(part) for part in name.split(".")], reverse=True))


@functools.cache
def read_lock(version: str) -> Lock:
    """Read the lock of one version.

    Raises:
        ConfigError: for a version that has none; it lists those that have.
    """
    if version not in known_versions():
        known = ", ".join(known_versions())
        raise ConfigError(f"OpenSearch {version!r} can't be run locally; version can be one of: {known}")
    raw = (_folder() / f"{version}.json").read_bytes()
    data = json.loads(raw)
    return Lock(
        version=data["opensearch"],
        java_min=data["java"]["min"],
        java_max=data["java"]["max"],
        java_target=data["java"]["target"],
        security_policy=data["security_policy"],
        modules=tuple(Module(name, entry["class"], tuple(entry["extends"])) for name, entry in data["modules"].items()),
        artifacts=tuple(Artifact(**{**entry, "into": tuple(entry["into"])}) for entry in data["artifacts"]),
        digest=hashlib.sha256(raw).hexdigest(),
    )


def check_analysis(analysis: Iterable[str]) -> tuple[str, ...]:
    """Return the analysis options sorted and without doubles.

    Raises:
        ConfigError: for an option that is not known; it lists those that are.
    """
    if isinstance(analysis, str):
        raise ConfigError(f'analysis takes a tuple of names, such as ("ik",), not the text {analysis!r}')
    chosen = tuple(sorted(set(analysis)))
    unknown = [name for name in chosen if name not in ANALYSIS_PLUGINS]
    if unknown:
        known = ", ".join(ANALYSIS_PLUGINS)
        raise ConfigError(f"analysis {unknown[0]!r} is not known; analysis can hold: {known}")
    return chosen


def _folder() -> resources.abc.Traversable:
    return resources.files("mem_opensearch.node") / "locks"
