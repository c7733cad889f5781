"""`tests/store/test_entities.py` on Elasticsearch (on an emulator, unless `ELASTICSEARCH_URL` is set)."""

from shared import take

globals().update(
    take("conftest") | take("test_entities", left_out={"test_on_the_older_server": "OpenSearch 2 is the older server"})
)
