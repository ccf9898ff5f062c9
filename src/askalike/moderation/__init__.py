"""Keeping an archive in order: duplicates to merge, gaps to fill, tags to add."""
