"""Engines: an archive with a ranker over it, answering questions. The embedded one is `local`."""
