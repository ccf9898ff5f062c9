"""OpenSearch on this machine, for tests and benchmarks: one to three nodes from Maven artifacts."""
