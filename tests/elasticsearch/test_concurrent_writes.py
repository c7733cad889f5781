"""`tests/store/test_concurrent_writes.py` on Elasticsearch (on an emulator, unless `ELASTICSEARCH_URL` is set)."""

from shared import SLOW, take

globals().update(take("test_concurrent_writes", only_real={"test_sixteen_threads_share_one_store": SLOW}))
