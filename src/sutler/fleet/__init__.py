"""Many repositories: a catalogue, a queue of units of work, workers, and a dataset of results."""
