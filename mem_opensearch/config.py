"""Every option of a store, checked once.

Options come from arguments, then from environment variables with the prefix ``MEM_OPENSEARCH_``, such as
``MEM_OPENSEARCH_URL``. The keys of mem0's own OpenSearch provider are all accepted. An option that would have no effect
beside the others is refused.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    ValidationError,
    field_serializer,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from mem_opensearch.addresses import Password, Token, User, complete_url
from mem_opensearch.config_checks import check_combinations
from mem_opensearch.environment import LOCAL, Environment
from mem_opensearch.errors import ConfigError
from mem_opensearch.models import Refresh
from mem_opensearch.search_options import SearchOptions

__all__ = ["LOCAL", "StoreConfig", "explain_validation"]

# What OpenSearch itself accepts as an index name, less what would clash with our own `-v1-000001` and `_entities`.
_COLLECTION_BYTES = 200  # the server allows 255; `_entities` and `-v1-000001` go on top
_COLLECTION = re.compile(r"^[^\W_A-Z+-][^\sA-Z\\/*?\"<>|,#:]*$")


def _as_refresh(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value


class StoreConfig(BaseSettings):
    """Options of `OpenSearchVectorStore`.

    Raises:
        ConfigError: from `StoreConfig.build`, naming each option that is wrong and what is right.
    """

    model_config = SettingsConfigDict(
        env_prefix="MEM_OPENSEARCH_",
        extra="forbid",
        arbitrary_types_allowed=True,
        validate_default=True,
        hide_input_in_errors=True,  # a mistyped option is shown without the password beside it
    )

    # -- where
    url: str | list[str] | None = Field(
        None, description='Server URLs, or "local" for the local node. Default: http://localhost:9200.'
    )
    host: str | None = Field(None, description="Host name, or a URL; mem0's key. `url` is the fuller form.")
    port: int | None = Field(None, ge=1, le=65535, description="Port that goes with `host`; 9200 when not given.")
    use_ssl: bool = Field(default=False, description="Use https with `host`.")
    verify_certs: bool = Field(default=True, description="Verify the server's certificate; turning it off warns.")
    ca_certs: str | None = Field(
        None, description="Path of a PEM file, or folder, of the authorities to trust instead of the usual ones."
    )

    engine: Literal["auto", "opensearch", "elasticsearch", "aoss"] = Field(
        "auto", description="Kind of the server; auto asks it once. aoss is Amazon OpenSearch Serverless."
    )

    # -- who
    user: User | None = Field(None, description="User for basic authentication.")
    password: Password | None = Field(None, description="Password for basic authentication.")
    api_key: Token | None = Field(None, description="API key, sent as `Authorization: ApiKey ...`.")
    bearer_token: Token | None = Field(None, description="Token, sent as `Authorization: Bearer ...`.")
    client_cert: str | None = Field(
        None, description="Path of a PEM file with a client certificate, and its key unless `client_key` is given."
    )
    client_key: str | None = Field(None, description="Path of a PEM file with the key, not encrypted.")
    aws_region: str | None = Field(
        None,
        pattern=r"^[a-z]{2}(-[a-z]+)+-\d+$",
        description="Sign requests for this region by Signature Version 4, with the credentials that botocore's chain "
        "finds; needs the extra `aws`. The port is then 443 unless the URL has one.",
    )
    aws_service: Literal["es", "aoss"] | None = Field(
        None, description="What requests are signed for: es, a domain (default), or aoss, a serverless collection."
    )
    http_auth: Any = Field(
        None, repr=False, description="A (user, password) pair, or an auth object such as a signer of one's own."
    )
    allow_insecure: bool = Field(default=False, description="Allow credentials over plain http to another machine.")

    # -- how
    timeout: float = Field(30.0, gt=0, le=3600, description="Seconds that one try of a request may take.")
    max_tries: int = Field(4, ge=1, le=10, description="Tries of one request, the first included.")
    max_retry_seconds: float = Field(
        60.0,
        ge=0,
        description="Seconds in which a failed request may be tried again, with pauses and time-outs; 0 never does. "
        "The first try has its whole `timeout`.",
    )
    pool_maxsize: int = Field(20, ge=1, description="Most connections per host; threads wait for a free one.")
    http_compress: bool = Field(default=False, description="Compress request and answer; pays on slow networks only.")
    connection_class: Any = Field(
        None,
        description='Transport class of opensearch-py, or its name: "Urllib3HttpConnection" (default) or '
        '"RequestsHttpConnection" (auth objects of the requests kind need it, and get it by themselves).',
    )
    client: Any = Field(None, description="A ready opensearchpy.OpenSearch client; connection options then clash.")

    # -- what
    collection_name: str = Field("mem0", description="Name of the collection: an alias, never a bare index.")
    embedding_model_dims: int = Field(1536, ge=1, le=16000, description="Length of the vectors.")
    embedding_model: str | None = Field(
        None,
        min_length=1,
        description="Name of the embedding model; kept with the index, so that another model of the same length is "
        "refused instead of compared.",
    )
    kind: Literal["memory", "entities"] | None = Field(
        None, description="What the collection holds; by default entities if its name ends in `_entities`."
    )
    analyzer: Literal["auto", "ik", "smartcn", "jieba", "bigram"] = Field(
        "auto", description="Chinese analysis; auto takes the best that the server can do, and jieba on any other."
    )
    dictionary: str | list[str] | None = Field(
        None,
        description="Names and products that stay whole words: path of a UTF-8 file, one word a line, or the words. "
        "For the analysers ik (on a server that knows them, as the local node does) and jieba.",
    )
    knn_engine: Literal["auto", "lucene", "faiss"] = Field(
        "auto", description="kNN engine; auto takes one that is safe."
    )
    shards: int = Field(1, ge=1, le=1024, description="Primary shards of a new index.")
    replicas: int | None = Field(
        None, ge=0, le=20, description="Copies per shard; by default 1 if there is a second node."
    )
    refresh: Annotated[Refresh, BeforeValidator(_as_refresh)] = Field(
        "on_read",
        description="When writes become searchable: on_read (before this process's next search), wait_for (before the "
        "write returns), true (at once, costly), false (at the index's own interval).",
    )
    auto_refresh: bool | None = Field(None, description="mem0's key: true is refresh=true, false is refresh=false.")
    bulk_max_bytes: int = Field(8_000_000, ge=10_000, description="Largest body of one bulk request, in bytes.")
    max_request_bytes: int = Field(
        104_857_600,
        ge=100_000,
        description="Largest request that the server takes, its http.max_content_length; a row that is larger is "
        "refused before anything is sent.",
    )
    on_duplicate: Literal["keep", "skip", "update"] = Field(
        "keep",
        description="What insert does with a text that its user, agent and run already have, simplified or "
        "traditional: keep both, skip the new one, or update the old one. Recognises rows that were written with skip "
        "or update.",
    )
    bulk_max_items: int = Field(1000, ge=1, description="Most memories in one bulk request.")

    # -- how memories are searched
    annotate: bool = Field(
        default=True,
        description="Note with each memory its talk, its time and what it replaces, which searches by every "
        "signal need; false for bulk loads, after which `annotate()` does it.",
    )
    search: SearchOptions = Field(
        default_factory=SearchOptions,
        description="Options of searches that use every signal: mode, threshold, pool, size, weights.",
    )

    # -- the local node
    node_version: str = Field("3.6.0", description='Version of the local node, with url="local".')
    node_data: str | None = Field(None, description="Folder that keeps the local node's data; temporary by default.")

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - the options' own types are checked by pydantic
        try:
            super().__init__(**options)
        except ValidationError as error:
            raise ConfigError(explain_validation(error, known=sorted(type(self).model_fields))) from None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the signature is pydantic's
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return where options come from: arguments, then what the environment says beside them."""
        return init_settings, Environment(settings_cls)

    @classmethod
    def build(cls, **options: Any) -> Self:  # noqa: ANN401 - the options' own types are checked by pydantic
        """Return the checked configuration.

        Raises:
            ConfigError: names each option that is wrong, and the known options when one is unknown.
        """
        return cls(**options)

    @field_serializer("http_auth", "client", "connection_class", when_used="json-unless-none")
    def _name_only(self, live: object) -> str:
        return live if isinstance(live, str) else f"<{type(live).__name__}>"

    @field_validator("collection_name")
    @classmethod
    def _check_collection_name(cls, name: str) -> str:
        return check_collection_name(name)

    @model_validator(mode="after")
    def _check_combinations(self) -> Self:
        check_combinations(self)
        return self

    @property
    def is_local(self) -> bool:
        """Whether the local node is meant."""
        return self.url == LOCAL

    @property
    def has_credentials(self) -> bool:
        """Whether requests carry a secret, or a signature made with one."""
        who = (self.user, self.api_key, self.bearer_token, self.aws_region, self.http_auth)
        return any(each is not None for each in who)

    @property
    def urls(self) -> list[str]:
        """The server's URLs, in the order given; empty for the local node and for a given client."""
        if self.is_local or self.client is not None:
            return []
        if self.url is not None:
            given = [self.url] if isinstance(self.url, str) else self.url
        else:
            host = self.host or "localhost"
            scheme = "https" if self.use_ssl else "http"
            given = [host if "://" in host else f"{scheme}://[{host}]" if host.count(":") > 1 else f"{scheme}://{host}"]
        port = self.port or (443 if self.aws_region is not None else 9200)
        return [complete_url(url, default_port=port, local=LOCAL) for url in given]

    @property
    def collection_kind(self) -> Literal["memory", "entities"]:
        """What the collection holds."""
        return self.kind or ("entities" if self.collection_name.endswith("_entities") else "memory")


def check_collection_name(name: object) -> str:
    """Return a name that a collection may have.

    Raises:
        ConfigError: it can't be one; says what can.
    """
    is_name = isinstance(name, str) and name.isprintable() and _COLLECTION.match(name)
    if not is_name or len(str(name).encode()) > _COLLECTION_BYTES:
        raise ConfigError(
            f"{name!r} can't be a collection name: use lower-case letters, digits, '_', '-' and '.', starting with a "
            f"letter or digit, at most {_COLLECTION_BYTES} bytes"
        )
    return str(name)


def explain_validation(error: ValidationError, *, known: list[str]) -> str:
    """Return a validation error in sentences, without the values that were given (they may be secrets)."""
    lines = []
    for item in error.errors(include_url=False, include_input=False):
        where = ".".join(str(part) for part in item["loc"]) or "options"
        if item["type"] == "extra_forbidden":
            inside = len(item["loc"]) > 1  # of `search`, the one option that holds others
            names = sorted(SearchOptions.model_fields) if inside else known
            lines.append(f"option '{where}' is unknown; known are: {', '.join(names)}")
        elif item["loc"]:
            lines.append(f"option '{where}': {item['msg'].removeprefix('Value error, ')}")
        else:
            lines.append(item["msg"].removeprefix("Value error, "))
    return "; ".join(dict.fromkeys(lines))
