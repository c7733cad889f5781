"""Text as both sides of the wire see it: one fold for the server, for Python and for keys, and the client's words."""

from mem_opensearch.text.dictionary import UserDictionary, load_dictionary
from mem_opensearch.text.fold import fold, fold_name, fold_rules, fold_version
from mem_opensearch.text.questions import without_question_words
from mem_opensearch.text.regions import regional_variants
from mem_opensearch.text.segment import segmentation_fingerprint, segmenter

__all__ = [
    "UserDictionary",
    "fold",
    "fold_name",
    "fold_rules",
    "fold_version",
    "load_dictionary",
    "regional_variants",
    "segmentation_fingerprint",
    "segmenter",
    "without_question_words",
]
