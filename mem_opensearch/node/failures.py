"""Say in plain words why a server did not start, from what it wrote."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mem_opensearch.node.places import OPTIONS_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TAIL = 20
BLOCK = 1 << 16

# what the server writes -> what it means and what mends it; the first that matches counts
_PORT = r"BindException|Address already in use|BindTransportException|BindHttpException"
_REASONS = (
    (_PORT, "its port {ports} is taken; choose another with port=, or port=0 for a free one"),
    (
        r"[Ff]ailed to obtain node lock|maybe these locations are not writable",
        "its data folder {folder} is in use by another node, or not writable; stop that node or choose another folder",
    ),
    (
        r"Too small maximum heap|Initial heap size set to a larger|Invalid maximum heap|Invalid initial heap",
        "Java does not accept the heap {heap!r}; give a size such as '512m'",
    ),
    (
        r"Could not reserve enough space|insufficient memory|Cannot allocate memory|Could not allocate",
        "the machine has not enough free memory for the heap {heap!r}; give a smaller one",
    ),
    (r"OutOfMemoryError|Java heap space", "the heap {heap!r} is too small for it; give a larger one, such as '1g'"),
    (
        r"cannot upgrade a node from version|cannot downgrade|Format version is not supported|IndexFormatTooNew",
        "its data folder {folder} was written by another version of OpenSearch; start that one or take another folder",
    ),
    (
        r"Unrecognized (VM )?option|Could not create the Java Virtual Machine",
        f"Java does not accept its flags; look at those in {OPTIONS_VARIABLE}, and at the heap {{heap!r}}",
    ),
    (r"UnsupportedClassVersionError|requires Java", "this Java can't run it; set JAVA_HOME to another"),
    (
        r"AccessDeniedException|Permission denied|AccessControlException",
        "it may not read or write a file that it needs below {folder}",
    ),
    (r"No space left on device", "the disk that holds {folder} is full"),
)


def explain_failure(text: str, *, ports: Sequence[int], folder: Path, heap: str) -> str | None:
    """The reason of a failed start as the end of a sentence, or None when the text shows none that is known.

    Args:
        text: the last lines of log and console.
        ports: its ports.
        folder: its data folder.
        heap: its heap size.
    """
    for pattern, words in _REASONS:
        if re.search(pattern, text):
            return words.format(ports=" or ".join(map(str, ports)), folder=folder, heap=heap)
    return None


def port_was_taken(text: str) -> bool:
    """Whether the failure is one that another port would mend."""
    return re.search(_PORT, text) is not None


def read_tail(path: Path, lines: int = TAIL) -> list[str]:
    """The last lines of a file, oldest first; none when there is no file."""
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, 2)
            reach = min(size, max(BLOCK, lines * 512))
            stream.seek(size - reach)
            text = stream.read().decode("utf-8", errors="replace")
    except OSError:
        return []
    return text.splitlines()[-lines:]
