"""A search, a step a file: resolve, retrieve (both in askalike.rankers), select, explain; see archive_retriever."""
