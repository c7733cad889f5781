"""What the page may ask for, checked."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mem_opensearch.config import explain_validation
from mem_opensearch.errors import InvalidInputError, ScopeError
from mem_opensearch.search_options import Mode

if TYPE_CHECKING:
    from collections.abc import Mapping

PAGE = 50
"""Results that the browser holds at once; the others are a page further."""


class Body(BaseModel):
    """The JSON of a request of the page."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, str_strip_whitespace=True)

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        """Return what a request asks for.

        Raises:
            InvalidInputError: names each part that is wrong; what was given is not repeated.
        """
        try:
            return cls(**data)
        except ValidationError as error:
            raise InvalidInputError(explain_validation(error, known=sorted(cls.model_fields))) from None


class Scoped(Body):
    """Whose memories: one of the three at least."""

    user: str = ""
    agent: str = ""
    run: str = ""

    @property
    def scope(self) -> dict[str, str]:
        """The filter that keeps a read to somebody's memories.

        Raises:
            ScopeError: nobody is named, or everybody.
        """
        given = {"user_id": self.user, "agent_id": self.agent, "run_id": self.run}
        scope = {key: value for key, value in given.items() if value}
        if not scope:
            raise ScopeError("whose memory is it? Name a user, an agent or a run")
        for key, value in scope.items():
            if value == "*":
                raise ScopeError(f"{key} '*' is nobody in particular; give an id")
        return scope


class SearchBody(Scoped):
    """One search."""

    query: str
    mode: Mode = "union"
    as_of: str = ""
    show_expired: bool = False
    top_k: int = Field(50, ge=1, le=10_000)
    threshold: float = Field(0.1, ge=0, le=1)
    rerank: str = ""
    compare: bool = False

    @property
    def moment(self) -> datetime | None:
        """`as_of` with a time zone, UTC where it has none.

        Raises:
            InvalidInputError: it is no time.
        """
        if not self.as_of:
            return None
        try:
            moment = datetime.fromisoformat(self.as_of)
        except ValueError:
            raise InvalidInputError("'as of' is no time; give one as 2026-08-01 or 2026-08-01T09:30") from None
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class RankBody(Body):
    """A search that was made, ranked again."""

    look: str
    threshold: float = Field(0.1, ge=0, le=1)
    page: int = Field(1, ge=1)


class MemoryBody(Body):
    """One memory, seen from a search that was made."""

    look: str
    id: str = Field(min_length=1, max_length=512)
    threshold: float = Field(0.1, ge=0, le=1)


class EntitiesBody(Scoped):
    """The entities of somebody."""

    name: str = ""
    page: int = Field(1, ge=1)


class EntityBody(Scoped):
    """The memories that one entity links."""

    entity: str = Field(min_length=1)
    type: str = ""
    owner: dict[str, str] = Field(default_factory=dict)
