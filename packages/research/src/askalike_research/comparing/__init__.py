"""Runs compared query by query: their files, tests and formats."""
