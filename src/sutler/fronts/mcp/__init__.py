"""Agents: the Model Context Protocol in both its eras, over stdio and HTTP."""
