"""`tests/store/test_signals.py` on Elasticsearch (on an emulator, unless `ELASTICSEARCH_URL` is set)."""

from shared import take

globals().update(take("test_signals"))
