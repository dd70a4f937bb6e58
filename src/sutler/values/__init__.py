"""Nouns: frozen values without I/O. Every other layer speaks in these."""
