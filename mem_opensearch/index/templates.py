"""Fill the templates of `index_templates/` for one collection."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mem_opensearch._version import __version__
from mem_opensearch.index.names import SCHEMA, component_name, index_pattern
from mem_opensearch.profiles import TEXT_FIELD, word_field
from mem_opensearch.text import fold_rules, fold_version

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from mem_opensearch.dialects import Dialect
    from mem_opensearch.models import IndexSpec

META_KEY = "mem_opensearch"


@dataclass(frozen=True, slots=True)
class Templates:
    """The two templates of a collection, ready to be sent."""

    component_name: str
    component: dict[str, Any]
    index: dict[str, Any]


def render_templates(spec: IndexSpec, dialect: Dialect) -> Templates:
    """Return the component and the index template for `spec`, as the server that speaks `dialect` takes them."""
    component_id = component_name(spec.profile, fold_version())
    words = word_field(spec.profile)
    values: dict[str, object] = {
        "fold_rules": fold_rules(),
        "fold_version": fold_version(),
        "profile": spec.profile,
        "words_tokenizer": words.tokenizer,
        "words_filters": words.token_filters,
        "index_patterns": [index_pattern(spec.collection)],
        "common_component": component_id,
        "schema": SCHEMA,
        # Patterns of two collections can overlap (`a` and `a-v1-b`): the longer name is the closer one.
        "priority": 500 + len(spec.collection),
        "shards": spec.shards,
        "replicas": spec.replicas,
        "vector_field": dialect.vector_field(dims=spec.dims, engine=spec.engine),
        "meta": {META_KEY: meta_of(spec)},
    }
    index_file = "entities.json" if spec.kind == "entities" else "memory.json"
    component = _fill(_load("common.json"), values)
    properties = component["template"]["mappings"]["properties"]
    properties.update(words.mapping(properties[TEXT_FIELD]))
    index = _fill(_load(index_file), values)
    index["template"]["settings"] = dialect.index_settings() | (
        index["template"]["settings"] if dialect.has_cluster else {}  # they are shards and replicas
    )
    return Templates(component_id, component, index)


def meta_of(spec: IndexSpec) -> dict[str, Any]:
    """Return what an index remembers of how it was made; later readers and writers obey it."""
    meta = {
        "schema": SCHEMA,
        "kind": spec.kind,
        "dims": spec.dims,
        "profile": spec.profile,
        "engine": spec.engine,
        "fold": fold_version(),
        "made_by": __version__,
    }
    told = {"dictionary": spec.dictionary, "model": spec.model}
    return meta | {name: value for name, value in told.items() if value is not None}


def _fill(node: Any, values: dict[str, object]) -> Any:  # noqa: ANN401 - any JSON
    """Return `node` with each string of the form ``${name}`` replaced by the value of that name."""
    if isinstance(node, dict):
        return {key: _fill(value, values) for key, value in node.items()}
    if isinstance(node, list):
        return [_fill(value, values) for value in node]
    if isinstance(node, str) and node.startswith("${") and node.endswith("}"):
        return values[node[2:-1]]
    return node


@lru_cache
def _load(name: str) -> Any:  # noqa: ANN401 - any JSON
    return json.loads((_folder() / name).read_text(encoding="utf-8"))


def _folder() -> Traversable:
    """Return `index_templates/`: inside the package when installed, beside it in a checkout."""
    inside = resources.files("mem_opensearch") / "index_templates"
    return inside if inside.is_dir() else Path(__file__).parents[2] / "index_templates"
