"""What a text says about time, as plain values."""

from mem_opensearch.temporal.calendar import Anchor, Window
from mem_opensearch.temporal.windows import find_windows

__all__ = ["Anchor", "Window", "find_windows"]
