"""The index of vectors: exact search, with quantised copies to select candidates."""
