"""Answers to a question: those stored with the most similar questions, or one that a model writes."""
