"""Move whole collections: to a file, from a file, and from mem0's own OpenSearch layout."""

from mem_opensearch.transfer.exporting import ExportReport, export_collection, export_rows
from mem_opensearch.transfer.importing import ImportReport, import_collection
from mem_opensearch.transfer.migrate import MigrateReport, migrate_index

__all__ = [
    "ExportReport",
    "ImportReport",
    "MigrateReport",
    "export_collection",
    "export_rows",
    "import_collection",
    "migrate_index",
]
