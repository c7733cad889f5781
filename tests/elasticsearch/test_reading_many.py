"""`tests/store/test_reading_many.py` on Elasticsearch (on an emulator, unless `ELASTICSEARCH_URL` is set)."""

from shared import SLOW, take

globals().update(
    take(
        "test_reading_many",
        only_real={
            "test_list_is_stable_past_ten_thousand_while_others_write_and_delete": SLOW,
            "test_get_many_of_thousands": SLOW,
        },
    )
)
