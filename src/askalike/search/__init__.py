"""A search, a step a file: resolve (askalike.rankers._searcher), retrieve (a ranker), select, explain; see engine."""
