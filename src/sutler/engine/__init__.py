"""The engine: a project, looked at and packed."""
