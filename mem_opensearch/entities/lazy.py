"""Load what is slow to load once for each process, when it is first wanted."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Generic, TypeVar

from mem_opensearch import forks

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Lazy(Generic[T]):
    """A value that is made at the first `get`; threads that come meanwhile wait for it.

    A forked child makes its own: the threads that a model computes with are not there after a fork.

    Args:
        load: makes the value. If it raises, the next `get` tries again.
    """

    def __init__(self, load: Callable[[], T]) -> None:
        self._load = load
        self._lock = forks.Lock()
        self._loaded: tuple[T] | None = None
        forks.watch(self)

    def get(self) -> T:
        """Return the value."""
        with self._lock:
            if self._loaded is None:
                self._loaded = (self._load(),)
            return self._loaded[0]

    def after_fork(self) -> None:
        """Forget the parent's value, and never free it.

        To free it would end the threads of the model, which only the parent has, and wait for them for ever: now, or
        when the child exits.
        """
        if self._loaded is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._loaded))
        self._loaded = None
