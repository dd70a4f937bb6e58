"""Changes to files: patch, merge, conflicts, durable replacement, history, rollback and
recovery."""
