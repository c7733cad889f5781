"""Create, verify or roll the indices of a collection: ``python -m mem_opensearch.init``.

Exit status: 0 all is as wanted, 1 something is missing or differs (with ``--check``), 2 it can't be done, 130 it was
interrupted.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mem_opensearch.config import StoreConfig
from mem_opensearch.errors import ConfigError, MemOpenSearchError
from mem_opensearch.index import (
    WantedIndex,
    apply_plan,
    drop_old_generations,
    list_generations,
    plan_index,
    read_spec,
    render_templates,
    roll_index,
)
from mem_opensearch.progress import StageBar
from mem_opensearch.store import OpenSearchVectorStore

if TYPE_CHECKING:
    from mem_opensearch.client import SearchClient
    from mem_opensearch.index import Plan

OK, DIFFERS, IMPOSSIBLE, INTERRUPTED = 0, 1, 2, 130


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
    roll: Annotated[
        bool, typer.Option("--roll", help="Move the collection to a new index made from the current templates.")
    ] = False,
    drop_old: Annotated[bool, typer.Option("--drop-old", help="Delete the indices that rolls have left.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Create, verify or roll the indices of a collection, one for memories and one for entities."""
    given = {
        "url": url,
        "collection_name": collection,
        "embedding_model_dims": dims,
        "analyzer": analyzer,
        "dictionary": dictionary,
    }
    try:
        if (roll or drop_old) and (check or dry_run):
            raise ConfigError("--roll and --drop-old change something, --check and --dry-run don't: give one kind")
        config = StoreConfig.build(**{name: value for name, value in given.items() if value is not None})
        client = OpenSearchVectorStore(config).client
        if roll or drop_old:
            reports = _move(client, config, roll=roll, drop_old=drop_old)
        else:
            reports = [_treat(client, wanted, check=check, dry_run=dry_run) for wanted in _both(config)]
    except MemOpenSearchError as error:
        typer.echo(" ".join([f"error: {error}", *getattr(error, "__notes__", [])]), err=True)
        raise typer.Exit(IMPOSSIBLE) from None
    except KeyboardInterrupt as error:
        notes = getattr(error, "__notes__", [])
        typer.echo(" ".join(["interrupted: the collection is as it was; run it again to go on", *notes]), err=True)
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        import orjson

        typer.echo(orjson.dumps(reports, option=orjson.OPT_INDENT_2).decode())
    else:
        for report in reports:
            typer.echo(_sentence(report))
    if any(report["state"] in {"missing", "differs"} for report in reports):
        raise typer.Exit(DIFFERS if check else OK)


def _both(config: StoreConfig) -> list[WantedIndex]:
    wanted = WantedIndex.of(config)
    if wanted.kind == "entities":
        return [wanted]
    return [wanted, replace(wanted, collection=f"{wanted.collection}_entities", kind="entities")]


def _move(client: SearchClient, config: StoreConfig, *, roll: bool, drop_old: bool) -> list[dict[str, Any]]:
    """Roll both indices, or only drop what rolls have left; return what was done."""
    reports = []
    for position, wanted in enumerate(_both(config)):
        found = read_spec(client, wanted.collection)
        if found is None and position > 0:
            continue  # a collection may have no entities yet
        if not roll:
            dropped = drop_old_generations(client, wanted.collection)
            reports.append({"collection": wanted.collection, "state": "dropped", "dropped": list(dropped)})
            continue
        with StageBar(wanted.collection) as bar:
            report = roll_index(client, _keep(client, wanted, config), drop_old=drop_old, progress=bar)
        reports.append({"state": "rolled", **asdict(report)})
    return reports


def _keep(client: SearchClient, wanted: WantedIndex, config: StoreConfig) -> WantedIndex:
    """Return what is wanted, with what was not asked for as it is in the live index."""
    found = read_spec(client, wanted.collection)
    if found is None:
        return wanted
    if "embedding_model_dims" not in config.model_fields_set:
        wanted = replace(wanted, dims=found[0].dims)
    if "shards" not in config.model_fields_set:
        wanted = replace(wanted, shards=list_generations(client, wanted.collection).live.shards)
    return wanted


def _treat(client: SearchClient, wanted: WantedIndex, *, check: bool, dry_run: bool) -> dict[str, Any]:
    """Return what was found, and done, about one index."""
    plan = plan_index(client, wanted)
    if check or dry_run:
        state = "missing" if not plan.exists else "differs" if plan.differences else "ok"
        report = _report(client, plan, state)
        if dry_run and not plan.exists:
            templates = render_templates(plan.spec, client.dialect)
            report["would_send"] = {"component": templates.component, "index": templates.index}
        return report
    apply_plan(client, wanted)
    after = plan_index(client, wanted)
    state = "differs" if after.differences else "made" if not plan.exists else "mended" if plan.differences else "ok"
    return _report(client, replace(after, facts=plan.facts), state)


def _index_of(client: SearchClient, collection: str) -> str:
    generations = list_generations(client, collection)
    return next((each.name for each in generations.every if each.live), generations.next_name)


def _report(client: SearchClient, plan: Plan, state: str) -> dict[str, Any]:
    spec = plan.spec
    report: dict[str, Any] = {
        "collection": spec.collection,
        "index": _index_of(client, spec.collection),
        "state": state,
        "kind": spec.kind,
        "dims": spec.dims,
        "analyzer": spec.profile,
        "engine": spec.engine,
        "differences": list(plan.differences),
        "notes": list(plan.notes),
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
    if report["state"] == "dropped":
        return f"{report['collection']}: dropped {', '.join(report['dropped']) or 'nothing, there were no old indices'}"
    if report["state"] == "rolled":
        return _roll_sentence(report)
    line = (
        f"{report['collection']}: {report['state']} ({report['kind']}, {report['dims']} dimensions, "
        f"analysed by {report['analyzer']}, kNN by {report['engine']})"
    )
    said = [*report["differences"], *report["notes"]]
    if server := report.get("server"):
        said.insert(
            0,
            f"server: {server['distribution']} {server['version']}, data nodes: {server['data_nodes']}, "
            f"kNN by {' or '.join(server['engines'])}, analysis by {' or '.join(server['analyzers'])}",
        )
    return "\n".join([line, *(f"  - {sentence}" for sentence in said)])


def _roll_sentence(report: dict[str, Any]) -> str:
    move = f"{report['collection']}: rolled from {report['old_index']} to {report['new_index']}"
    took = f"{report['rows']:,} rows in {report['seconds']:.1f} s; writes waited {report['blocked_seconds']:.1f} s"
    lines = [
        f"{move}, {took}",
        f"  - {report['sampled']:,} rows compared field by field, all equal; counts equal",
    ]
    if report["conflicts"]:
        lines.append(f"  - {report['conflicts']:,} rows were written to the new index by something else meanwhile")
    if not report["replicas_ready"]:
        lines.append("  - not all replicas of the new index were started when it took over; see: GET /_cat/shards")
    if report["dropped"]:
        lines.append(f"  - dropped {', '.join(report['dropped'])}")
    if report["kept"]:
        lines.append(f"  - kept {', '.join(report['kept'])}; delete with --drop-old")
    return "\n".join(lines)


def main() -> None:
    """Run the command."""
    app = typer.Typer(add_completion=False, pretty_exceptions_show_locals=False)  # which may be secrets
    app.command()(init)
    app()


if __name__ == "__main__":
    main()
