"""`tests/store/test_deleting.py` on Elasticsearch (on an emulator, unless `ELASTICSEARCH_URL` is set)."""

from shared import take

globals().update(take("test_deleting"))
