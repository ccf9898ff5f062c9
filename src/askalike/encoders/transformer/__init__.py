"""Pre-trained transformers without torch: a sentence-transformers folder in, vectors out."""
