"""`tests/store/test_duplicates.py` on Elasticsearch (on an emulator, unless `ELASTICSEARCH_URL` is set)."""

from shared import take

globals().update(take("test_duplicates"))
