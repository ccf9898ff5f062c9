"""Indexes in an OpenSearch cluster, shared by several processes, instead of in local files."""
