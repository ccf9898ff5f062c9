"""An archive teaches its own best ranker: what is tried, what chooses, what the choice is worth, what serves."""
