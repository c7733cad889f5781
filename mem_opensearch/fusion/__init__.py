"""Make one ranking of several signals: pure functions of plain values."""
