"""The inverted index: segments, term dictionary, postings, block-max search."""
