"""A search, a step a file: resolve (askalike.rankers._queries), retrieve (a ranker), select, explain; see engine."""
