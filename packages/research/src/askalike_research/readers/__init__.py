"""Readers of data sets that may be used for research only."""
