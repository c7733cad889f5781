"""Every contact with the parts of mem0 that it does not promise to keep.

What is touched, and why:

- ``VectorStoreFactory.provider_to_class["opensearch"]``: the dotted name of the class that mem0 builds as the store.
- ``mem0.configs.vector_stores.opensearch.OpenSearchConfig``: `VectorStoreConfig` finds the config class by this name.
- ``EmbedderFactory.provider_to_class``: one more entry.
- ``RerankerFactory.provider_to_class``: mem0's five rerankers are ours, and there are more of them.
- ``EmbedderConfig``'s validator of `config`: it holds a closed list of provider names.
- ``hide_input_in_errors`` of `MemoryConfig` and `VectorStoreConfig`: mem0 logs the validation error of a mistyped
  option together with the values beside it, passwords included.
- the methods of ``Memory`` and ``AsyncMemory`` that `linking.REPLACED` names: how entities are linked and unlinked.
- the methods that `extraction.SURROUNDED` names, and the functions of ``mem0.memory.main`` in `extraction.FUNCTIONS`:
  how entities are found, and what the keyword search is asked.
- the method that `conditions.REPLACED` names: how a search's filters reach the store.
- the methods that `READING` names, with ``register(patch=True)``: what a search is.

`Patches.apply` checks all of it before it changes anything, and `Patches.revert` puts back exactly what was there.
"""

from __future__ import annotations

import dataclasses
import importlib
import warnings
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, Final

from mem_opensearch.errors import ConfigError
from mem_opensearch.extras import require
from mem_opensearch.mem0 import conditions, linking
from mem_opensearch.mem0.extraction import FUNCTIONS, SURROUNDED, chosen
from mem_opensearch.mem0.linking import replacement
from mem_opensearch.mem0.reranking import dotted
from mem_opensearch.rerank.registry import scorer_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping

VECTOR_PROVIDER: Final = "opensearch"
EMBEDDER_PROVIDER: Final = "mem_opensearch"
SUPPORTED: Final = ((2, 0, 20), (2, 3))
SUPPORTED_TEXT: Final = "mem0ai>=2.0.20,<2.3"

STORE_CLASS: Final = "mem_opensearch.mem0.entities.open_store"
EMBEDDER_CLASS: Final = "mem_opensearch.mem0.embedder.Mem0Embedder"

READING: Final = ("search", "_search_vector_store")
REPLACED: Final = {name: {**methods, **conditions.REPLACED} for name, methods in linking.REPLACED.items()}

_CONFIG_CLASS: Final = "OpenSearchConfig"
_VALIDATOR: Final = "validate_config"
_HIDE: Final = "hide_input_in_errors"


def mem0_version() -> str:
    """Return the version of the mem0 that is imported.

    Raises:
        MissingExtraError: mem0 is not installed.
    """
    return str(require("mem0", extra="mem0", purpose="the mem0 bridge").__version__)


def warn_if_untested() -> None:
    """Warn when mem0's version is outside the range that the tests cover."""
    version = mem0_version()
    lowest, above = SUPPORTED
    if not lowest <= _release(version) < above:
        warnings.warn(
            f"mem0ai {version} is not among the versions that mem_opensearch is tested with ({SUPPORTED_TEXT}); "
            "what it needs of mem0 is in place, so it goes on",
            stacklevel=3,
        )


def _release(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version: ``"2.2.1rc1"`` gives ``(2, 2, 1)``."""
    numbers = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)


@dataclass(frozen=True, slots=True)
class _Parts:
    """The objects of mem0 that are changed, found and checked."""

    stores: MutableMapping[str, Any]
    embedders: MutableMapping[str, Any]
    rerankers: MutableMapping[str, Any]
    config_module: Any
    memory_config: Any
    store_config: Any
    embedder_config: Any
    memories: Mapping[str, Any]
    main_module: Any


def find_parts() -> _Parts:
    """Return the parts of mem0 that the bridge changes.

    Raises:
        MissingExtraError: mem0 is not installed.
        ConfigError: this mem0 has other internals: names what is missing and the supported versions.
    """
    version = mem0_version()
    # Bind mem0's own provider to mem0's own config class before the name is given to ours.
    _attribute(version, "mem0.vector_stores.opensearch", "OpenSearchDB")
    stores = _attribute(version, "mem0.utils.factory", "VectorStoreFactory", "provider_to_class")
    embedders = _attribute(version, "mem0.utils.factory", "EmbedderFactory", "provider_to_class")
    rerankers = _attribute(version, "mem0.utils.factory", "RerankerFactory", "provider_to_class")
    _attribute(version, "mem0.configs.vector_stores.opensearch", _CONFIG_CLASS)
    embedder_config = _attribute(version, "mem0.embeddings.configs", "EmbedderConfig")
    validators = _attribute(
        version, "mem0.embeddings.configs", "EmbedderConfig", "__pydantic_decorators__", "field_validators"
    )
    if VECTOR_PROVIDER not in stores:
        raise _changed(version, f"the entry '{VECTOR_PROVIDER}' of VectorStoreFactory.provider_to_class")
    if _VALIDATOR not in validators:
        raise _changed(version, f"the validator EmbedderConfig.{_VALIDATOR}")
    return _Parts(
        stores=stores,
        embedders=embedders,
        rerankers=rerankers,
        config_module=importlib.import_module("mem0.configs.vector_stores.opensearch"),
        memory_config=_attribute(version, "mem0.configs.base", "MemoryConfig"),
        store_config=_attribute(version, "mem0.vector_stores.configs", "VectorStoreConfig"),
        embedder_config=embedder_config,
        memories={name: _find_memory(version, name) for name in REPLACED},
        main_module=_find_main(version),
    )


def _find_main(version: str) -> Any:  # noqa: ANN401 - mem0 has no types
    """Return the module that has imported all functions that we replace."""
    for function in FUNCTIONS:
        _attribute(version, "mem0.memory.main", function)
    return importlib.import_module("mem0.memory.main")


def _find_memory(version: str, name: str) -> Any:  # noqa: ANN401 - mem0 has no types
    """Return a class of mem0 whose methods are all there that we replace."""
    for method in (*REPLACED[name], *SURROUNDED, *READING):
        _attribute(version, "mem0.memory.main", name, method)
    return _attribute(version, "mem0.memory.main", name)


def _attribute(version: str, module: str, *path: str) -> Any:  # noqa: ANN401 - mem0 has no types
    """Return ``module.path[0].path[1]...``, or say that this mem0 has none."""
    try:
        found: Any = importlib.import_module(module)
        for name in path:
            found = getattr(found, name)
    except (ImportError, AttributeError) as error:
        raise _changed(version, ".".join((module, *path))) from error
    return found


def _changed(version: str, what: str) -> ConfigError:
    return ConfigError(
        f"mem0ai {version} has not got {what}, which mem_opensearch plugs into; "
        f"supported versions are {SUPPORTED_TEXT}: pip install 'mem-opensearch[mem0]'"
    )


class Patches:
    """The changes to mem0, as one thing that is applied and reverted whole."""

    def __init__(self) -> None:
        self._parts = find_parts()
        self._undo: list[Callable[[], None]] = []

    def apply(self, store_config_class: type) -> None:
        """Make mem0 build our store, config and embedder; when a step fails, put everything back.

        Args:
            store_config_class: what `VectorStoreConfig` makes of the options of provider ``opensearch``.
        """
        try:
            self._apply(store_config_class)
        except BaseException:
            self.revert()
            raise

    def _apply(self, store_config_class: type) -> None:
        parts = self._parts
        self._set_item(parts.stores, VECTOR_PROVIDER, value=STORE_CLASS)
        self._set_item(parts.embedders, EMBEDDER_PROVIDER, value=EMBEDDER_CLASS)
        for provider in scorer_names():
            self._set_item(parts.rerankers, provider, value=(dotted(provider), dict))  # a dict keeps unknown options
        self._set_item(vars(parts.config_module), _CONFIG_CLASS, value=store_config_class)
        validators = parts.embedder_config.__pydantic_decorators__.field_validators
        self._set_item(validators, _VALIDATOR, value=_also_ours(validators[_VALIDATOR]))
        for model in (parts.memory_config, parts.store_config):
            self._set_item(model.model_config, _HIDE, value=True)
        for name, methods in REPLACED.items():
            owner = parts.memories[name]
            for method, (ours, is_async) in methods.items():
                self._set_method(owner, method, replacement(vars(owner)[method], ours, is_async=is_async))
            for method, made_of in SURROUNDED.items():
                original = vars(owner)[method]
                self._set_method(owner, method, made_of(original, is_async=iscoroutinefunction(original)))
        functions = vars(parts.main_module)
        for function, instead in FUNCTIONS.items():
            self._set_item(functions, function, value=chosen(functions[function], instead))
        self._rebuild()

    def apply_reading(self) -> None:
        """Make the searches of mem0's own classes ours as well, where the store is ours; after `apply`."""
        from mem_opensearch.mem0.reading import patched  # which needs mem0

        for owner in self._parts.memories.values():
            for method in READING:
                self._set_method(owner, method, patched(vars(owner)[method]))

    def revert(self) -> None:
        """Put back what `apply` found."""
        while self._undo:
            self._undo.pop()()
        self._rebuild()

    def _set_item(self, mapping: Any, key: str, *, value: object) -> None:  # noqa: ANN401 - dicts of several kinds
        before = mapping.get(key, _ABSENT)
        self._undo.append(lambda: mapping.pop(key, None) if before is _ABSENT else mapping.update({key: before}))
        mapping[key] = value

    def _set_method(self, owner: Any, name: str, method: Any) -> None:  # noqa: ANN401 - a class of mem0
        before = vars(owner)[name]
        self._undo.append(lambda: setattr(owner, name, before))
        setattr(owner, name, method)

    def _rebuild(self) -> None:
        # Inner models first: pydantic compiles a nested model's validator into the outer one.
        for model in (self._parts.embedder_config, self._parts.store_config, self._parts.memory_config):
            model.model_rebuild(force=True)


_ABSENT: Final = object()


def _also_ours(decorator: Any) -> Any:  # noqa: ANN401 - pydantic's Decorator, which is not exported
    """Return the validator of embedder configs with one more provider name; all others go to mem0's own."""
    original = decorator.func

    def validate(value: object, info: Any) -> object:  # noqa: ANN401 - pydantic finds the two-argument form by signature
        return value if info.data.get("provider") == EMBEDDER_PROVIDER else original(value, info)

    return dataclasses.replace(decorator, func=validate)
