"""Say what is wrong with an index or a node that refuses a request, and how to mend it."""

from __future__ import annotations

import re

WRITE_BLOCK = "FORBIDDEN/8"
"""`index.blocks.write`: the one block that a roll of ours puts on, for a moment."""

_INDEX = 'PUT /INDEX/_settings {"index.blocks.%s": null}'
_CLUSTER = 'PUT /_cluster/settings {"persistent": {"cluster.blocks.%s": null}}'
_DISK = (
    "the disk of a node is as good as full (flood-stage watermark): free space there, add a node, or delete a "
    "collection; the server takes the block off by itself when there is room again (at once: %s)"
)
# The numbers are the server's own: ClusterBlock ids of IndexMetadata, Metadata and INDEX_CREATE_BLOCK.
_BLOCKS = {
    "4": "the index is closed; open it with: POST /INDEX/_open",
    "5": f"the index is read-only; to mend: {_INDEX % 'read_only'}",
    "6": f"the whole cluster is read-only; to mend: {_CLUSTER % 'read_only'}",
    "7": f"reading from the index is blocked; to mend: {_INDEX % 'read'}",
    "8": f"writing to the index is blocked; to mend: {_INDEX % 'write'}",
    "9": f"the metadata of the index are blocked; to mend: {_INDEX % 'metadata'}",
    "10": (
        "making indices is blocked, by hand or because all disks are over their high watermark: free space, or "
        f"{_CLUSTER % 'create_index'}"
    ),
    "12": _DISK % (_INDEX % "read_only_allow_delete"),
    "13": _DISK % (_CLUSTER % "read_only_allow_delete"),
}
_CLOSED = "index_closed_exception"
BLOCKED = frozenset({"cluster_block_exception", "index_create_block_exception"})
_NODE_GONE = (
    "node_closed_exception",
    "node_disconnected_exception",
    "node_not_connected_exception",
    "connect_transport_exception",
    "index_shard_closed_exception",
    "no_shard_available_action_exception",
)
"""What a server says, with status 500, of another one that has just gone; its copies of the shards take over."""

_LIMITS = (
    ("too_many_clauses", "give a shorter query or fewer conditions: a list belongs in one 'in', not in many OR"),
    ("too_many_nested_clauses", "give a shorter query or fewer conditions: a list belongs in one 'in', not in many OR"),
    ("maxClauseCount", "give a shorter query or fewer conditions: a list belongs in one 'in', not in many OR"),
    ("max_terms_count", "give fewer values in one 'in': the server takes 65,536, see index.max_terms_count"),
    ("Result window is too large", "lower top_k, or raise index.max_result_window, which is 10,000 unless changed"),
    ("Limit of total fields", "raise index.mapping.total_fields.limit in the index template that sets it so low"),
    (
        "circuit_breaking_exception",
        "the server has no memory for it: lower bulk_max_bytes or top_k, or give it more heap",
    ),
)


def blocks_of(kind: str, reason: str, *, index: str = "") -> dict[str, str]:
    """Return the blocks that a refusal names, each with what it means and what to do; empty when it is no such refusal.

    Args:
        kind: the server's name of the error.
        reason: its words.
        index: the index, where the words don't name it.

    >>> blocks_of("cluster_block_exception", "index [m] blocked by: [FORBIDDEN/5/index read-only (api)];")
    {'FORBIDDEN/5': 'the index is read-only; to mend: PUT /m/_settings {"index.blocks.read_only": null}'}
    >>> blocks_of("index_closed_exception", "closed", index="m")
    {'FORBIDDEN/4': 'the index is closed; open it with: POST /m/_open'}
    """
    if kind == _CLOSED:
        found = [("FORBIDDEN", "4")]
    elif kind in BLOCKED:
        found = re.findall(r"\[([A-Z_]+)/(\d+)/", reason)
    else:
        return {}
    if any(level == "SERVICE_UNAVAILABLE" for level, _ in found):
        return {}  # the cluster has no manager at the moment, or has just started
    named = re.search(r"index \[([^\]]+)\]", reason)
    name = named[1] if named else index or "INDEX"
    return {
        f"{level}/{number}": _BLOCKS.get(number, "somebody has put this block on").replace("INDEX", name)
        for level, number in found
    }


def is_node_gone(reason: str) -> bool:
    """Whether a server's words say that another node of its cluster has gone under the request."""
    return any(kind in reason for kind in _NODE_GONE)


def limit_advice(reason: str) -> str:
    """Return what to do about a limit of the server that a request met, or ''."""
    return next((advice for sign, advice in _LIMITS if sign in reason), "")
