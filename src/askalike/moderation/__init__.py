"""Maintenance of an archive: duplicates to merge, gaps to fill, tags to add."""
