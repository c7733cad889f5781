"""The options of a store as mem0 reads, copies and passes them on."""

from __future__ import annotations

from typing import Any, Final, Self

from pydantic import model_validator

from mem_opensearch.config import StoreConfig

# Live objects of the caller: they hold sockets, locks and credential sessions, so they are shared and never copied.
SHARED_OBJECTS: Final = ("client", "http_auth", "connection_class")


class Mem0StoreConfig(StoreConfig):
    """`StoreConfig` for ``vector_store.config`` of mem0.

    mem0 passes ``**config.model_dump()`` to the store, makes the entity collection's config by deep copy and a new
    `collection_name`, and with telemetry on a third config by ``type(config)(**config.model_dump())``. All three keep
    secrets as `SecretStr` and share live objects (client, auth, connection class) with the original. Without that, mem0
    falls back to a copy that has no password.

    Raises:
        ConfigError: names each option that is wrong, and the known options when one is unknown. mem0 shows it inside a
            pydantic `ValidationError`.
    """

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        memo = {} if memo is None else memo
        for name in SHARED_OBJECTS:
            shared = getattr(self, name)
            memo[id(shared)] = shared
        return super().__deepcopy__(memo)

    def model_dump(self, **options: Any) -> dict[str, Any]:  # noqa: ANN401 - pydantic's own signature
        """Return pydantic's dump, with live objects as they are (pydantic turns dataclasses into dicts)."""
        dump = super().model_dump(**options)
        return {name: getattr(self, name) if name in SHARED_OBJECTS else value for name, value in dump.items()}

    @model_validator(mode="after")
    def _leave_the_kind_to_mem0(self) -> Self:
        if self.kind is not None:
            raise ValueError("'kind' is not for mem0, which makes the entity collection itself: leave it out")
        if self.collection_name.endswith("_entities"):
            message = f"'{self.collection_name}' can't hold memories: mem0 adds '_entities' for the entity collection"
            raise ValueError(message)
        return self
