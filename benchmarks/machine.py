"""Say what machine measured, and how much memory this process and the node have needed."""

from __future__ import annotations

import json
import os
import platform
import re
import urllib.request
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = ("mem-opensearch", "mem0ai", "opensearch-py", "orjson", "numpy", "qdrant-client")
_STATUS = re.compile(r"^(VmHWM|VmRSS|RssAnon):\s+(\d+) kB", re.MULTILINE)


def facts(url: str) -> dict[str, Any]:
    """Return processor, memory, versions, and how busy the machine is at this moment."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "ram_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "python": platform.python_version(),
        "system": platform.system(),
        "load_before": round(os.getloadavg()[0], 2),
        "server": server_of(url),
        "packages": {name: found for name in _PACKAGES if (found := _version(name))},
    }


def server_of(url: str) -> dict[str, Any]:
    """Return the version of the server, and its heap."""
    node = _node(url)
    return {
        "version": _get(url, "/")["version"]["number"],
        "heap_mb": round(node["jvm"]["mem"]["heap_max_in_bytes"] / 2**20),
    }


def forget_peak() -> None:
    """Let the peak of this process count from now on, where the system allows it."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return  # then the peak is that since the start


def client_memory() -> dict[str, int]:
    """Return what this process needs, in megabytes: now, and at most since `forget_peak`."""
    found = _status("self")
    return {"rss_mb": found["VmRSS"], "peak_rss_mb": found["VmHWM"]}


def node_memory(url: str) -> dict[str, int]:
    """Return the most that the node's process has needed, in megabytes, and what of it is not files; {} if remote."""
    process = _node(url)["process"]["id"]
    try:
        if "opensearch" not in Path(f"/proc/{process}/cmdline").read_text().lower():
            return {}
        found = _status(process)
    except OSError:
        return {}
    return {"peak_rss_mb": found["VmHWM"], "anonymous_rss_mb": found["RssAnon"]}


def _status(process: int | str) -> dict[str, int]:
    text = Path(f"/proc/{process}/status").read_text()
    return {name: int(kilobytes) // 1024 for name, kilobytes in _STATUS.findall(text)}


def _node(url: str) -> dict[str, Any]:
    nodes: dict[str, dict[str, Any]] = _get(url, "/_nodes/process,jvm")["nodes"]
    return next(iter(nodes.values()))


def _get(url: str, path: str) -> Any:  # noqa: ANN401 - decoded JSON
    with urllib.request.urlopen(url + path, timeout=30) as answer:  # noqa: S310 - the server that is measured
        return json.load(answer)


def _cpu() -> str:
    try:
        found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    return found[1] if found else platform.machine()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
