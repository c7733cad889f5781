"""Build the IK plugin as the zip that ``opensearch-plugin install`` takes. Runs in the image's first stage.

The same source, files, compiler and sums as on a local node: the lock of the version is the only list, and a file whose
SHA-256 is not the lock's is never used.
"""  # noqa: INP001 - a script beside its Dockerfile, not a package

from __future__ import annotations

import argparse
import tempfile
import zipfile
from pathlib import Path

from mem_opensearch.node.artifacts import artifact_file, ensure_artifacts
from mem_opensearch.node.java import find_java
from mem_opensearch.node.lockfile import DEFAULT_VERSION, read_lock
from mem_opensearch.node.places import cache_folder
from mem_opensearch.node.plugins import CLASSES, DESCRIPTIONS, ZIP_EPOCH, build_plugin, descriptor

PLUGIN = "analysis-ik"


def pack_plugin(version: str, *, library: Path, target: Path) -> None:
    """Compile the plugin against a server and pack it with the jars that it brings.

    Args:
        version: version of OpenSearch, which must have a lock.
        library: the ``lib`` folder of that server.
        target: the zip to write.
    """
    lock = read_lock(version)
    place = f"plugins/{PLUGIN}"
    brought = [artifact for artifact in lock.artifacts if place in artifact.into]
    (compiler,) = (artifact for artifact in lock.artifacts if "compiler" in artifact.into)
    cache = cache_folder()
    ensure_artifacts(cache, [*brought, compiler], title=f"IK for OpenSearch {version}", quiet=False)
    jars = [artifact_file(cache, artifact) for artifact in brought]
    with tempfile.TemporaryDirectory() as scratch:
        own = Path(scratch) / f"mem-opensearch-{PLUGIN}.jar"
        build_plugin(
            PLUGIN,
            target=own,
            classpath=[*sorted(library.glob("*.jar")), *jars],
            compiler=artifact_file(cache, compiler),
            java=find_java(read_lock(DEFAULT_VERSION)),  # runs the compiler only: any Java that is new enough will do
            level=lock.java_target,
        )
        about = descriptor(
            name=PLUGIN,
            classname=CLASSES[PLUGIN],
            description=DESCRIPTIONS[PLUGIN],
            version=version,
            java=lock.java_target,
            extends=(),
        )
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(zipfile.ZipInfo("plugin-descriptor.properties", ZIP_EPOCH), about)
            for jar in (own, *jars):
                archive.writestr(zipfile.ZipInfo(jar.name, ZIP_EPOCH), jar.read_bytes())


def main() -> None:
    """Read the command line and build."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("version", help="version of OpenSearch")
    parser.add_argument("--library", type=Path, required=True, help="lib folder of that server")
    parser.add_argument("--target", type=Path, required=True, help="zip to write")
    options = parser.parse_args()
    pack_plugin(options.version, library=options.library, target=options.target)


if __name__ == "__main__":
    main()
