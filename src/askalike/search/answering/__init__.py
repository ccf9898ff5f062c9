"""Answers to a question: stored ones of the most similar questions, or one written by a model."""
