"""The indices: what they are named, how they are made, and whether they are as they should be."""

from mem_opensearch.index.analyze import FieldTokens, TextAnalysis, analyse_text
from mem_opensearch.index.bootstrap import (
    apply_plan,
    ensure_index,
    find_index,
    plan_index,
    read_spec,
)
from mem_opensearch.index.generations import list_generations
from mem_opensearch.index.names import SCHEMA, index_name, template_name
from mem_opensearch.index.probe import probe_server
from mem_opensearch.index.roll import RollReport, drop_old_generations, roll_index
from mem_opensearch.index.templates import META_KEY, render_templates
from mem_opensearch.index.wanted import Plan, WantedIndex

__all__ = [
    "META_KEY",
    "SCHEMA",
    "FieldTokens",
    "Plan",
    "RollReport",
    "TextAnalysis",
    "WantedIndex",
    "analyse_text",
    "apply_plan",
    "drop_old_generations",
    "ensure_index",
    "find_index",
    "index_name",
    "list_generations",
    "plan_index",
    "probe_server",
    "read_spec",
    "render_templates",
    "roll_index",
    "template_name",
]
