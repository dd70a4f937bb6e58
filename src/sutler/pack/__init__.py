"""Making one pack: the pipeline, its cache and its workers."""
