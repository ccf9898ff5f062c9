"""The index of vectors: exact, and quantised for a first look."""
