"""Import an optional package, or name the command that installs it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from mem_opensearch.errors import MissingExtraError

if TYPE_CHECKING:
    from types import ModuleType


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Return the imported `module`.

    Args:
        module: dotted module name, such as ``"jgo.maven"``.
        extra: the extra of this package that brings it.
        purpose: what needs it, as the subject of a sentence: ``"the local node"``.

    Raises:
        MissingExtraError: with the exact install command, when the module's package is absent.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise  # the package is there and broken inside: that is not a missing extra
        raise MissingExtraError(extra, package, purpose) from error
