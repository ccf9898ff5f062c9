"""Answers to a question: stored ones, by how like it their questions are, or one that a model writes."""
