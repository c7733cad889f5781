"""Text as both sides of the wire see it: one fold for the server, for Python and for keys."""

from mem_opensearch.text.fold import fold, fold_rules, fold_version
from mem_opensearch.text.questions import without_question_words
from mem_opensearch.text.regions import regional_variants

__all__ = ["fold", "fold_rules", "fold_version", "regional_variants", "without_question_words"]
