"""Cost of a text: exact counters and their tables."""
