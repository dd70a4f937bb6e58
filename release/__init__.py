"""Release engineering; not part of the package."""
