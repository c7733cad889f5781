"""Say where the files of the local node are kept.

A user has them in the folders that the system gives to programs of a user. Root has them in the system's folders:
the server does not run as root, and the account it runs as can't enter root's own home.
"""

from __future__ import annotations

import os
from pathlib import Path

from mem_opensearch.extras import require

APP = "mem-opensearch"
CACHE_VARIABLE = "MEM_OPENSEARCH_CACHE"
STATE_VARIABLE = "MEM_OPENSEARCH_STATE"
OPTIONS_VARIABLE = "MEM_OPENSEARCH_JAVA_OPTS"
"""Further flags for the server's Java. ``-XX:TieredStopAtLevel=1`` halves the work of a start, for tests; a node that
computes much is then slower."""
ROOT_CACHE = Path("/var/cache") / APP  # Filesystem Hierarchy Standard 3.0, 5.5
ROOT_STATE = Path("/var/lib") / APP  # the same, 5.8


def is_root() -> bool:
    """Whether this process may do anything, so that the node must run as somebody else."""
    return os.geteuid() == 0


def cache_folder() -> Path:
    """Downloaded files and assembled homes; can be deleted at any time when no node runs."""
    if chosen := os.environ.get(CACHE_VARIABLE):
        return Path(chosen).expanduser().absolute()
    if is_root():
        return ROOT_CACHE
    return Path(require("platformdirs", extra="local", purpose="the local node").user_cache_dir(APP))


def state_folder() -> Path:
    """What is known about the detached node: one small JSON file."""
    if chosen := os.environ.get(STATE_VARIABLE):
        return Path(chosen).expanduser().absolute()
    if is_root():
        return ROOT_STATE
    return Path(require("platformdirs", extra="local", purpose="the local node").user_state_dir(APP))


def detached_data_folder() -> Path:
    """Indices of the detached node, unless the user names another folder."""
    if os.environ.get(STATE_VARIABLE) or is_root():
        return state_folder() / "node"
    return Path(require("platformdirs", extra="local", purpose="the local node").user_data_dir(APP)) / "node"
