"""Verbs: pure functions, value in, value out."""
