"""Entity stores on the test's collection."""

import pytest

from mem_opensearch import EntityStore


@pytest.fixture
def make_entities(opensearch_url, collection):
    """Make entity stores beside the test's collection, of 4 dimensions unless told otherwise."""
    made = []

    def make(**options):
        defaults = {
            "url": opensearch_url,
            "collection_name": f"{collection}_entities",
            "embedding_model_dims": 4,
        }
        made.append(EntityStore(**(defaults | options)))
        return made[-1]

    yield make
    for store in made:
        store.close()


@pytest.fixture
def entities(make_entities):
    return make_entities()
