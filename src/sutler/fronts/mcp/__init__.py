"""The Model Context Protocol for agents, in both its eras, over stdio and HTTP."""
