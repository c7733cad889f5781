"""The numbers of the mode "union", in one place."""

from __future__ import annotations

from dataclasses import dataclass, fields

from mem_opensearch.errors import ConfigError


@dataclass(frozen=True, slots=True)
class UnionWeights:
    """How much each signal adds to a score, beside the cosine, which adds 1 at most.

    Chosen on the development sets, one choice for all of them; docs/ranking.md shows how flat each of them is.

    Attributes:
        words: a full match of words; 1 is as much as the meaning.
        identifiers: the question's identifiers, found whole. Large, because PX-441 is another thing than PX-442, which
            no cosine knows.
        entity: a memory that is linked to the name asked for.
        context: share of the earlier turn's score by words that a turn inherits.
        words_limit: the most that a turn's own words and the inherited ones add together: a turn that repeats what the
            one before says matches the same words twice.
        context_decay: what is left of it for each further turn.
        context_turns: how many turns back, >= 0; 0 switches the context off.
        window: a memory of the time that the question names. Larger than any other, since who names a day wants it.
        slot: a short statement that fills the slot asked about.
        asks: share of its own score that a turn loses that only asks.
        superseded: share of its score that a replaced memory keeps.
        recency: a memory of this moment, before others that match as well. 0 by default: on the development sets it
            costs more where memories don't age than it gains where they do.
        half_life: days in which recency falls to half, > 0.
    """

    words: float = 0.7
    identifiers: float = 1.4
    entity: float = 0.5
    context: float = 0.9
    words_limit: float = 1.0
    context_decay: float = 0.8
    context_turns: int = 2
    window: float = 1.0
    slot: float = 0.1
    asks: float = 0.2
    superseded: float = 0.8
    recency: float = 0.0
    half_life: float = 90.0

    def __post_init__(self) -> None:
        for option in fields(self):
            value = getattr(self, option.name)
            if not 0 <= value < float("inf"):
                raise ConfigError(f"weight '{option.name}' is {value}, expected a number from 0")
        if self.half_life == 0:
            raise ConfigError("weight 'half_life' is 0 days, expected more; to leave recency out, set 'recency' to 0")
        if self.context_turns != int(self.context_turns):
            raise ConfigError(f"weight 'context_turns' is {self.context_turns}, expected a whole number of turns")
        object.__setattr__(self, "context_turns", int(self.context_turns))  # options hold every weight as a float
        for name in ("context_decay", "asks", "superseded"):
            if getattr(self, name) > 1:
                raise ConfigError(f"weight '{name}' is {getattr(self, name)}, expected a share from 0 to 1")
