"""An archive as files that other tools read: BEIR and CSV."""
