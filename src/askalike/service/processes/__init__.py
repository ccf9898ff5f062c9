"""The processes of the service: a supervisor, an indexer, and the configured number of workers."""
