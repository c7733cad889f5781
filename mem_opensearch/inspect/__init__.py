"""A page on this machine that shows why a memory ranks where it does; it reads, and writes nothing."""
