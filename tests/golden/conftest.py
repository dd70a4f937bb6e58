"""The trees of the golden cases are material, not tests."""

collect_ignore_glob = ["cases/*"]
