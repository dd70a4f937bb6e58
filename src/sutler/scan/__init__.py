"""What is in the tree, and which rule keeps a file out of it."""
