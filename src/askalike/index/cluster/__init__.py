"""Indexes in an OpenSearch cluster: what askalike.index keeps in files, kept by nodes that several processes share."""
