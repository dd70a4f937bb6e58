"""The picker: choose from a project's files, shown with their tokens, on a terminal."""
