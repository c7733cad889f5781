"""Create or verify the indices of a collection: ``python -m mem_opensearch.init``.

Exit status: 0 all is as wanted, 1 something is missing or differs (with ``--check``), 2 it can't be done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mem_opensearch.config import StoreConfig
from mem_opensearch.errors import MemOpenSearchError
from mem_opensearch.index import WantedIndex, apply_plan, index_name, plan_index, render_templates
from mem_opensearch.store import OpenSearchVectorStore

if TYPE_CHECKING:
    from mem_opensearch.client import SearchClient
    from mem_opensearch.index import Plan

OK, DIFFERS, IMPOSSIBLE = 0, 1, 2


def init(
    *,
    url: Annotated[str | None, typer.Option(help='Server URL, or "local". Default: MEM_OPENSEARCH_URL.')] = None,
    collection: Annotated[str | None, typer.Option(help="Name of the collection. Default: mem0.")] = None,
    dims: Annotated[int | None, typer.Option(help="Length of the vectors. Default: 1536.")] = None,
    analyzer: Annotated[str | None, typer.Option(help="auto, ik, smartcn, jieba or bigram. Default: auto.")] = None,
    dictionary: Annotated[str | None, typer.Option(help="UTF-8 file of words, one a line, that stay whole.")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit 1 if something is not as wanted.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; print what would be sent.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Create or verify the indices of a collection, one for memories and one for entities."""
    given = {
        "url": url,
        "collection_name": collection,
        "embedding_model_dims": dims,
        "analyzer": analyzer,
        "dictionary": dictionary,
    }
    try:
        config = StoreConfig.build(**{name: value for name, value in given.items() if value is not None})
        store = OpenSearchVectorStore(config)
        reports = [_treat(store.client, wanted, check=check, dry_run=dry_run) for wanted in _both(config)]
    except MemOpenSearchError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(IMPOSSIBLE) from None
    if as_json:
        import orjson

        typer.echo(orjson.dumps(reports, option=orjson.OPT_INDENT_2).decode())
    else:
        for report in reports:
            typer.echo(_sentence(report))
    if any(report["state"] in {"missing", "differs"} for report in reports):
        raise typer.Exit(DIFFERS if check else OK)


def _both(config: StoreConfig) -> list[WantedIndex]:
    from dataclasses import replace

    wanted = WantedIndex.of(config)
    if wanted.kind == "entities":
        return [wanted]
    return [wanted, replace(wanted, collection=f"{wanted.collection}_entities", kind="entities")]


def _treat(client: SearchClient, wanted: WantedIndex, *, check: bool, dry_run: bool) -> dict[str, Any]:
    """Return what was found, and done, about one index."""
    plan = plan_index(client, wanted)
    if check or dry_run:
        state = "missing" if not plan.exists else "differs" if plan.differences else "ok"
        report = _report(plan, state)
        if dry_run and not plan.exists:
            templates = render_templates(plan.spec)
            report["would_send"] = {"component": templates.component, "index": templates.index}
        return report
    apply_plan(client, wanted)
    after = plan_index(client, wanted)
    state = "differs" if after.differences else "made" if not plan.exists else "mended" if plan.differences else "ok"
    return _report(after, state)


def _report(plan: Plan, state: str) -> dict[str, Any]:
    spec = plan.spec
    report: dict[str, Any] = {
        "collection": spec.collection,
        "index": index_name(spec.collection),
        "state": state,
        "kind": spec.kind,
        "dims": spec.dims,
        "analyzer": spec.profile,
        "engine": spec.engine,
        "differences": list(plan.differences),
    }
    if plan.facts is not None:
        report["server"] = {
            "distribution": plan.facts.distribution,
            "version": ".".join(map(str, plan.facts.version)),
            "data_nodes": plan.facts.data_nodes,
            "engines": sorted(plan.facts.engines),
            "analyzers": list(plan.facts.profiles),
        }
    return report


def _sentence(report: dict[str, Any]) -> str:
    line = (
        f"{report['collection']}: {report['state']} ({report['kind']}, {report['dims']} dimensions, "
        f"analysed by {report['analyzer']}, kNN by {report['engine']})"
    )
    return "\n".join([line, *(f"  - {difference}" for difference in report["differences"])])


def main() -> None:
    """Run the command."""
    typer.run(init)


if __name__ == "__main__":
    main()
