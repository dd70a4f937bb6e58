"""Projects that are not folders here: git repositories by URL, and archives on disk.

Each becomes a folder of the cache, named by its commit or digest, that the pipeline scans like any
other. Nothing of it is run."""
