"""What scorers have in common as objects: options that are checked once, an address, and a key that is never shown."""

from __future__ import annotations

import os
from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, model_validator

from mem_opensearch.addresses import Token, complete_url, leaves_this_machine
from mem_opensearch.config import explain_validation
from mem_opensearch.errors import ConfigError
from mem_opensearch.rerank.endpoint import Endpoint

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType


def _check_url(url: str) -> str:
    if "@" in url:
        raise ValueError("credentials don't belong in the URL, where logs show them: use 'api_key'")
    complete_url(url, default_port=443, local="https://host/v1/rerank")
    return url


Address = Annotated[str, AfterValidator(_check_url)]
"""The whole address of an endpoint, path included."""


class Options(BaseModel):
    """Options of one scorer; they never change.

    Raises:
        ConfigError: names each option that is wrong, and the known options when one is unknown.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, hide_input_in_errors=True)

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - the options' own types are checked by pydantic
        try:
            super().__init__(**options)
        except ValidationError as error:
            said = explain_validation(error, known=sorted(type(self).model_fields))
            raise ConfigError(f"{type(self).__name__}: {said}") from None
        self._get_ready()

    def _get_ready(self) -> None:
        """Make what the options describe, once they are known to be right; nothing is sent."""


class Remote(Options):
    """Options of what is reached over HTTP. Connections are shared by threads, and a forked child has its own.

    Attributes:
        url: the whole address of the endpoint.
        api_key: sent as ``Authorization: Bearer ...``; where it is not given, from the environment.
        timeout: seconds that connecting, and then the whole answer, may each take.
        ca_certs: path of a PEM file with the authorities to trust instead of the usual ones.
        allow_insecure: send the key over plain http to another machine.
    """

    key_needed_at: ClassVar[frozenset[str]] = frozenset()
    """Addresses of hosted services, which answer nobody without a key."""

    url: Address
    api_key: Token | None = None
    timeout: float = Field(10.0, gt=0, le=3600)
    ca_certs: str | None = None
    allow_insecure: bool = False

    _endpoint: Endpoint = PrivateAttr()

    @classmethod
    def key_variables(cls, options: Mapping[str, Any]) -> tuple[str, ...]:  # noqa: ARG003 - for those who need it
        """Return the names of environment variables that may hold the key; the first that is set counts."""
        return ()

    @model_validator(mode="before")
    @classmethod
    def _take_key(cls, given: dict[str, Any]) -> dict[str, Any]:
        keys = [key for name in cls.key_variables(given) if (key := os.environ.get(name))]
        return {**given, "api_key": given.get("api_key") or (keys[0] if keys else None)}

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.api_key is None and self.url in self.key_needed_at:
            raise ValueError(f"a key is needed for {self.url}: give {self._key_from()}")
        is_plain = self.url.startswith("http:")
        if self.api_key is not None and is_plain and leaves_this_machine(self.url) and not self.allow_insecure:
            raise ValueError(
                f"the key would travel unencrypted to {self.url.removeprefix('http://')}: use https, or set "
                "allow_insecure=true if the network is trusted"
            )
        if self.ca_certs is not None and is_plain:
            raise ValueError("'ca_certs' would have no effect over http: use https")
        return self

    def _key_from(self) -> str:
        names = self.key_variables(self.model_dump())
        return " or ".join(["'api_key'", *(f"the environment variable {name}" for name in names)])

    @property
    @abstractmethod
    def name(self) -> str:
        """Short name for messages and tables."""

    def _get_ready(self) -> None:
        self._endpoint = Endpoint(
            self.url,
            scorer=self.name,
            key=self.api_key,
            key_from=self._key_from(),
            timeout=self.timeout,
            ca_certs=self.ca_certs,
        )

    def close(self) -> None:
        """End the connections; a later call opens new ones."""
        self._endpoint.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
