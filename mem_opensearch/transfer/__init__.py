"""Whole collections: to a file, from a file, from mem0's own OpenSearch layout, and annotated afterwards."""

from mem_opensearch.transfer.annotating import AnnotateReport, annotate_collection
from mem_opensearch.transfer.exporting import ExportReport, export_collection, export_rows
from mem_opensearch.transfer.importing import ImportReport, import_collection
from mem_opensearch.transfer.migrate import MigrateReport, migrate_index

__all__ = [
    "AnnotateReport",
    "ExportReport",
    "ImportReport",
    "MigrateReport",
    "annotate_collection",
    "export_collection",
    "export_rows",
    "import_collection",
    "migrate_index",
]
