"""The mem0 that these tests import is the one that the run means."""

import os

import mem0
import pytest


@pytest.mark.unit
def test_the_expected_mem0_is_under_test():
    expected = os.environ.get("EXPECTED_MEM0", mem0.__version__)
    assert mem0.__version__ == expected, f"mem0 {mem0.__version__} was imported from {mem0.__file__}"
