"""Projects that are not folders here: git repositories by URL, and archives on disk.

Each becomes a folder of the cache, named by its commit or digest, and is scanned like any other.
Nothing in it is run."""
