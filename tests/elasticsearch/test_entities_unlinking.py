"""`tests/store/test_entities_unlinking.py` on Elasticsearch (on an emulator, unless `ELASTICSEARCH_URL` is set)."""

from shared import take

_SCRIPTED = "its server is a script that answers as OpenSearch does"
globals().update(
    take("conftest")
    | take(
        "test_entities_unlinking",
        left_out={
            "test_what_the_server_forbids_is_said": _SCRIPTED,
            "test_rows_that_never_hold_still_are_an_error_in_the_end": _SCRIPTED,
        },
    )
)
