"""Rankers that only research needs: learned term weights, and a cross-encoder."""
