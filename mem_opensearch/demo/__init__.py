"""Show on real questions what the store finds, beside what mem0's own provider finds on the same node."""
