"""``python -m mem_opensearch``."""

from mem_opensearch.cli import main

main()
