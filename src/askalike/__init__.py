"""askalike finds the questions in a Q&A archive that ask the same thing."""

__version__ = "0.1.0"
