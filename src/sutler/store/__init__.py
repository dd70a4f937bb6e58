"""Persistent state: one store, on SQLite or PostgreSQL."""
