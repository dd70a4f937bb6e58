"""Count what a text costs: exact counters and their tables."""
