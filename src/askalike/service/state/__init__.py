"""The state of one process of the service: the archives that it serves, their engines, and rate limits."""
