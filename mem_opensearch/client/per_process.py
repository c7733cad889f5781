"""Hold the client of this process, and make another one in a child, whose sockets would be the parent's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from mem_opensearch import forks
from mem_opensearch.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

C = TypeVar("C")


class PerProcess(Generic[C]):
    """A client of an engine's package.

    Args:
        client: that of this process.
        make: makes another such client, for a child process; None when the caller brought the client.
    """

    def __init__(self, client: C, make: Callable[[], C] | None) -> None:
        self.current: C | None = client
        self._make = make
        self._lock = forks.Lock()
        forks.watch(self)

    def after_fork(self) -> None:
        """Leave the sockets to the parent."""
        self.current = None

    def get(self) -> C:
        """Return the client of this process.

        Raises:
            ConfigError: the caller made it in another process.
        """
        current = self.current
        if current is not None:
            return current
        if self._make is None:
            raise ConfigError(
                "the given 'client' was made before this process was forked, and its sockets are the parent's: make "
                "client and store in the child, or give 'url' instead of 'client'"
            )
        with self._lock:
            if self.current is None:
                self.current = self._make()
            return self.current
