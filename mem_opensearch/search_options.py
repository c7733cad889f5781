"""The options of a search: how signals are fused, and how wide it looks."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Mode = Literal["union", "rrf", "mem0"]
"""How signals become one ranking; see docs/ranking.md."""


Normaliser = Literal["share", "log", "zscore", "sigmoid", "saturation"]
"""How BM25 gets on a scale from 0 to 1; see `fusion.normalisers`."""


class SearchOptions(BaseModel):
    """What `mem_opensearch.search` can be told once, for all searches.

    Raises:
        ValidationError: an option is unknown or out of its range.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Mode = Field("union", description="Fusion: union (every signal counts), rrf (ranks only), mem0 (as mem0).")
    threshold: float = Field(
        0.1,
        ge=0,
        le=1,
        description="Least evidence of a result; in mode mem0 the least cosine. A search may give its own.",
    )
    pool: int = Field(60, ge=1, le=5000, description="Nearest memories in meaning that are always candidates.")
    size: int = Field(
        120,
        ge=2,
        le=10_000,
        description="Most candidates of one search, from all signals; names and times of a question may bring 80 more.",
    )
    normaliser: Normaliser = Field(
        "share",
        description="Scale of BM25 in mode union: share (of the best), log, zscore, sigmoid or saturation.",
    )
    weights: dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = Field(
        default_factory=dict, description="Weights that differ from the defaults of `fusion.UnionWeights`, by name."
    )
