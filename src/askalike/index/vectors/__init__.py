"""The index of vectors: exact, quantised, and by a graph of neighbours."""
