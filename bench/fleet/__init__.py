"""Measurements of a team: servers, fleets, isolation. Each module is a command."""
