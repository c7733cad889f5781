"""Assemble the folder that a server runs from, once per version and analysis, and keep it whole."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from mem_opensearch.node.account import can_read
from mem_opensearch.node.artifacts import artifact_file, cache_lock, ensure_artifacts
from mem_opensearch.node.download import file_digest
from mem_opensearch.node.lockfile import ANALYSIS_PLUGINS
from mem_opensearch.node.places import ROOT_CACHE
from mem_opensearch.node.plugins import CLASSES, DESCRIPTIONS, STAND_INS, build_plugin, descriptor, source_files

if TYPE_CHECKING:
    from mem_opensearch.node.account import Account
    from mem_opensearch.node.java import Java
    from mem_opensearch.node.lockfile import Artifact, Lock

LAYOUT = 3  # raise it when a home assembled by an older release must not be used any more
MANIFEST = "manifest.json"
MODULE_POLICY = "grant {\n  permission java.security.AllPermission;\n};\n"  # they are parts of the server itself
_logger = logging.getLogger("mem_opensearch.node")


def ensure_home(
    lock: Lock, analysis: tuple[str, ...], *, cache: Path, java: Java, account: Account | None, quiet: bool
) -> Path:
    """The home of a server: assembled if it is not there, mended if it is damaged.

    Args:
        lock: what it is made of.
        analysis: analysis options, sorted.
        cache: the cache folder.
        java: runs the compiler.
        account: who must be able to read it, None for this process.
        quiet: show no progress.

    Returns:
        A folder with ``lib/``, ``modules/`` and ``plugins/``, shared by all nodes and never written by them.

    Raises:
        ArtifactError: when a file can't be fetched.
    """
    needed = lock.needed(analysis)
    fetched = ensure_artifacts(cache, needed, title=f"OpenSearch {lock.version}", quiet=quiet)
    home = _homes_folder(cache, account) / _home_name(lock, analysis)
    intact = _inodes(needed, cache)
    if home.is_dir():
        damaged = _damaged(home, intact)
        if not damaged:
            return home
        untold = [name for name in damaged if Path(name).name not in fetched]
        if untold:
            _logger.warning("%s in the assembled node is damaged, it is assembled again", ", ".join(untold))
    with cache_lock(cache):
        if not home.is_dir() or _damaged(home, intact):
            _assemble(home, lock, analysis, cache=cache, java=java)
    return home


def _homes_folder(cache: Path, account: Account | None) -> Path:
    """Beside the downloads, unless the account can't get there (a cache that root has below its own home)."""
    cache.mkdir(parents=True, exist_ok=True)
    if cache == ROOT_CACHE and account is not None:
        cache.chmod(0o755)  # whatever the umask: the account has to pass
    if can_read(cache, account):
        return cache / "homes"
    _logger.info(
        "account %r can't read %s, so the assembled node is put in %s", account and account.name, cache, ROOT_CACHE
    )
    return ROOT_CACHE / "homes"


def _home_name(lock: Lock, analysis: tuple[str, ...]) -> str:
    digest = hashlib.sha256(f"{LAYOUT} {lock.digest}".encode())
    for plugin in (*STAND_INS, *(ANALYSIS_PLUGINS[option] for option in analysis)):
        for name, content in source_files(plugin).items():
            digest.update(name.encode() + content)
    return "-".join([lock.version, *(analysis or ("plain",)), digest.hexdigest()[:12]])


def _assemble(home: Path, lock: Lock, analysis: tuple[str, ...], *, cache: Path, java: Java) -> None:
    """Build beside the place and move it there in one step: nobody ever sees half a home."""
    home.parent.mkdir(parents=True, exist_ok=True)
    home.parent.chmod(0o755)
    scratch = Path(tempfile.mkdtemp(dir=home.parent, prefix=".new-"))
    try:
        fresh = scratch / "home"
        for name in ("bin", "lib", "modules", "plugins"):
            (fresh / name).mkdir(parents=True)  # the server looks for each of them, even for an empty one
        _place_artifacts(fresh, lock, analysis, cache)
        for module in lock.modules:
            folder = fresh / "modules" / module.name
            text = f"Part of OpenSearch: {module.name}"
            classname = module.classname
            if module.name in STAND_INS:
                classname = STAND_INS[module.name]
                _compile(folder, lock, module.name, cache=cache, java=java, superclass=module.classname)
            _describe(folder, lock, classname=classname, extends=module.extends, text=text)
            if lock.security_policy:
                (folder / "plugin-security.policy").write_text(MODULE_POLICY)
        for option in analysis:
            _add_plugin(fresh, lock, ANALYSIS_PLUGINS[option], cache=cache, java=java)
        _write_manifest(fresh)
        _open_for_all(fresh)
        if home.exists():
            home.rename(scratch / "old")  # a node that runs from it has its files open
        fresh.rename(home)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _place_artifacts(home: Path, lock: Lock, analysis: tuple[str, ...], cache: Path) -> None:
    left_out = lock.left_out(analysis) | {"compiler"}
    for artifact in lock.needed(analysis):
        source = artifact_file(cache, artifact)
        for place in sorted(set(artifact.into) - left_out):
            folder = home / place
            folder.mkdir(parents=True, exist_ok=True)
            if artifact.packaging == "zip":
                with zipfile.ZipFile(source) as archive:
                    archive.extractall(folder)  # its SHA-256 is the lock's
            else:
                _link(source, folder / artifact.filename)


def _link(source: Path, target: Path) -> None:
    """One file on the disk if the file system can, else a copy."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _describe(folder: Path, lock: Lock, *, classname: str, extends: tuple[str, ...] = (), text: str) -> None:
    content = descriptor(
        name=folder.name,
        classname=classname,
        description=text,
        version=lock.version,
        java=lock.java_target,
        extends=extends,
    )
    (folder / "plugin-descriptor.properties").write_text(content)


def _add_plugin(home: Path, lock: Lock, plugin: str, *, cache: Path, java: Java) -> None:
    folder = home / "plugins" / plugin
    _compile(folder, lock, plugin, cache=cache, java=java)
    _describe(folder, lock, classname=CLASSES[plugin], text=DESCRIPTIONS[plugin])


def _compile(folder: Path, lock: Lock, plugin: str, *, cache: Path, java: Java, superclass: str = "") -> None:
    home = folder.parent.parent
    compiler = next(artifact for artifact in lock.artifacts if artifact.into == ("compiler",))
    build_plugin(
        plugin,
        target=folder / f"mem-opensearch-{plugin}.jar",
        classpath=[*sorted((home / "lib").glob("*.jar")), *sorted(folder.glob("*.jar"))],
        compiler=artifact_file(cache, compiler),
        java=java,
        level=lock.java_target,
        superclass=superclass,
    )


def _write_manifest(home: Path) -> None:
    files = sorted(path for path in home.rglob("*") if path.is_file())
    manifest = {path.relative_to(home).as_posix(): file_digest(path) for path in files}
    (home / MANIFEST).write_text(json.dumps(manifest, indent=1))


def _open_for_all(home: Path) -> None:
    """Readable whatever the umask: the server may run as another account."""
    home.chmod(0o755)
    for path in home.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _inodes(artifacts: tuple[Artifact, ...], cache: Path) -> dict[tuple[int, int], str]:
    """(device, inode) -> SHA-256 of the files of the cache, whose sums have just been computed."""
    result = {}
    for artifact in artifacts:
        info = artifact_file(cache, artifact).stat()
        result[info.st_dev, info.st_ino] = artifact.sha256
    return result


def _damaged(home: Path, intact: dict[tuple[int, int], str]) -> list[str]:
    """The files that are not as they were assembled; a link to a checked file is not read again."""
    try:
        manifest: dict[str, str] = json.loads((home / MANIFEST).read_text())
    except (OSError, ValueError):
        return [MANIFEST]
    damaged = []
    for name, digest in manifest.items():
        try:
            info = (home / name).stat()
            found = intact.get((info.st_dev, info.st_ino)) or file_digest(home / name)
        except OSError:
            found = ""
        if found != digest:
            damaged.append(name)
    return damaged
