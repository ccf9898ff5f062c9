"""Finds the best ranker for an archive: the candidates, the choice among them, its evaluation and its activation."""
