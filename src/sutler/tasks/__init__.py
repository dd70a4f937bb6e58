"""Task packs (seed 002): a bounded, deterministic context pack for a task."""
