"""Compile our Java: the analysis plugins, and what stands in for a module of the server."""

from __future__ import annotations

import subprocess
import tempfile
import zipfile
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from mem_opensearch.errors import NodeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mem_opensearch.node.java import Java

CLASSES = {
    "analysis-ik": "org.memopensearch.ik.IkPlugin",
    "analysis-smartcn": "org.memopensearch.smartcn.SmartcnPlugin",
}
STAND_INS = {"analysis-common": "org.memopensearch.common.AnalysisCommonPlugin"}
"""Module of the server -> our class that extends the module's own, named SUPERCLASS in the source."""

DESCRIPTIONS = {
    "analysis-ik": "The IK segmenter for Chinese, built by mem_opensearch",
    "analysis-smartcn": "Lucene's segmenter for simplified Chinese, built by mem_opensearch",
}
ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same source gives the same bytes
COMPILE_SECONDS = 120


def source_files(plugin: str) -> dict[str, bytes]:
    """The source and resource files of a plugin by name."""
    folder = resources.files("mem_opensearch.node") / "java_src" / plugin
    return {entry.name: entry.read_bytes() for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)}


def descriptor(*, name: str, classname: str, description: str, version: str, java: int, extends: Sequence[str]) -> str:
    """The text of a ``plugin-descriptor.properties``.

    Args:
        name: name of the plugin or module.
        classname: its class.
        description: one line.
        version: version of OpenSearch, which must be the server's.
        java: oldest Java version it runs on.
        extends: modules whose classes it sees.
    """
    lines = [
        f"name={name}",
        f"description={description}",
        f"version={version}",
        f"opensearch.version={version}",
        f"java.version={java}",
        f"classname={classname}",
        f"extended.plugins={','.join(extends)}",
        "has.native.controller=false",
    ]
    return "\n".join(lines) + "\n"


def build_plugin(
    plugin: str,
    *,
    target: Path,
    classpath: Sequence[Path],
    compiler: Path,
    java: Java,
    level: int,
    superclass: str = "",
) -> None:
    """Compile a plugin and pack it as a jar.

    Args:
        plugin: a folder of ``java_src``.
        target: the jar to write.
        classpath: jars of the server and of the plugin.
        compiler: the jar of the Eclipse compiler, which needs no JDK.
        java: what to run it with.
        level: Java version that the classes are for.
        superclass: the class that a stand-in extends.

    Raises:
        NodeError: with the compiler's words.
    """
    files = source_files(plugin)
    with tempfile.TemporaryDirectory() as scratch:
        source, classes = Path(scratch) / "source", Path(scratch) / "classes"
        source.mkdir()
        classes.mkdir()
        for name, content in files.items():
            if name.endswith(".java"):
                (source / name).write_bytes(content.replace(b"SUPERCLASS", superclass.encode()))
            else:
                (classes / name).write_bytes(content)
        command = [
            *(java.command, "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-jar", str(compiler)),
            *(f"-{level}", "-proc:none", "-nowarn", "-encoding", "UTF-8"),
            *("-classpath", ":".join(str(path) for path in classpath), "-d", str(classes)),
            *(str(source / name) for name in files if name.endswith(".java")),
        ]
        result = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_SECONDS, check=False)  # noqa: S603
        if result.returncode != 0:
            raise NodeError(f"plugin {plugin!r} could not be compiled with {java.home}:\n{result.stderr.strip()}")
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as jar:
            for path in sorted(path for path in classes.rglob("*") if path.is_file()):
                entry = zipfile.ZipInfo(path.relative_to(classes).as_posix(), ZIP_EPOCH)
                jar.writestr(entry, path.read_bytes())
