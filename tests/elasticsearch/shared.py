"""Take the store's own tests, which are written for the real OpenSearch node, and run them on this folder's server."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

SLOW = "takes some ten milliseconds for each row, so that thousands take minutes"
_STORE = Path(__file__).parents[1] / "store"


def take(
    name: str, *, left_out: dict[str, str] | None = None, only_real: dict[str, str] | None = None
) -> dict[str, Any]:
    """Return what a module of `tests/store` has: its tests and the fixtures that they use.

    Args:
        name: the module.
        left_out: tests that make no sense on Elasticsearch, with the reason.
        only_real: tests that the emulator fails, with what it does instead; a real server runs them.
    """
    spec = importlib.util.spec_from_file_location(f"store_{name}", _STORE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = {key: value for key, value in vars(module).items() if not key.startswith("__")}
    for test in left_out or {}:
        del found[test]
    for test, why in (only_real or {}).items():
        found[test] = pytest.mark.real_elasticsearch(why)(found[test])
    return found
