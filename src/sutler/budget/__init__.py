"""What enters a pack and how much of it: claims, the ladder of levels, and fitting under a
ceiling."""
