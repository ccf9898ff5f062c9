"""Exports an archive as files for other tools: BEIR and CSV."""
