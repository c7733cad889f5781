"""Text as both sides of the wire see it: one fold for the server, for Python and for keys."""

from mem_opensearch.text.fold import fold, fold_rules, fold_version

__all__ = ["fold", "fold_rules", "fold_version"]
