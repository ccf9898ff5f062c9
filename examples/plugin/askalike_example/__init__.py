"""A similarity, a reader and a ranker that askalike finds by their entry points."""
