"""The second stage: score a wide pool of memories again, by something that reads question and memory together."""

from mem_opensearch.rerank.answers import AnswerScorer
from mem_opensearch.rerank.scoring import Scorer
from mem_opensearch.rerank.stage import Reranked, Reranker, Reranking

__all__ = ["AnswerScorer", "Reranked", "Reranker", "Reranking", "Scorer"]
