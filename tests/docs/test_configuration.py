"""The page of options is that of this release."""

import subprocess
import sys
from pathlib import Path

import pytest

from mem_opensearch.config import StoreConfig

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.unit


def test_the_page_is_up_to_date():
    result = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "describe-options"), "--check"],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr


def test_every_option_is_in_one_row_with_a_description():
    page = (ROOT / "docs" / "configuration.md").read_text()
    for name, field in StoreConfig.model_fields.items():
        assert page.count(f"| `{name}` |") == 1
        assert field.description
