"""Files in the tree, and the rule that excludes each other path."""
