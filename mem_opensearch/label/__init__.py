"""Let people say which memories answer which questions: the data that `evaluate` and `tune` need."""

from mem_opensearch.label.agreement import Agreement
from mem_opensearch.label.judging import Candidate, Judging
from mem_opensearch.label.merging import Merged, merge
from mem_opensearch.label.questions import Question, read_questions

__all__ = ["Agreement", "Candidate", "Judging", "Merged", "Question", "merge", "read_questions"]
