"""Measures rankers on the labels of an archive, and compares runs."""
