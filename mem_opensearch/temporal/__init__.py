"""What a text says about time, as plain values: the windows it names, and which older memory it replaces."""

from mem_opensearch.temporal.calendar import Anchor, Window
from mem_opensearch.temporal.changes import asks_about_the_past
from mem_opensearch.temporal.events import closeness, event_window
from mem_opensearch.temporal.slots import SLOTS, Slot, fills, slots_of
from mem_opensearch.temporal.supersession import (
    NEIGHBOURS,
    Evidence,
    Statement,
    SupersessionWeights,
    find_superseded,
    is_statement,
    newest_of,
)
from mem_opensearch.temporal.topics import format_context, latest_per_topic
from mem_opensearch.temporal.windows import find_windows

__all__ = [
    "NEIGHBOURS",
    "SLOTS",
    "Anchor",
    "Evidence",
    "Slot",
    "Statement",
    "SupersessionWeights",
    "Window",
    "asks_about_the_past",
    "closeness",
    "event_window",
    "fills",
    "find_superseded",
    "find_windows",
    "format_context",
    "is_statement",
    "latest_per_topic",
    "newest_of",
    "slots_of",
]
