"""A search, a step a file: resolve (askalike.rankers._ranking), retrieve (a ranker), select, explain; see engine."""
