"""Task packs (seed 002): a task comes in, a bounded, deterministic context pack goes out."""
