"""Facts from a project's own files: manifest, summaries, entry points, hotspots. No fact, no
word."""
