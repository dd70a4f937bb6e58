"""Facts from a project's own files: manifest, summaries, entry points, hotspots. The survey states
nothing that no file shows."""
