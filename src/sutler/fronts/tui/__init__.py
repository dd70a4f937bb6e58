"""The picker: a project's files with their tokens, on a terminal, to choose from."""
