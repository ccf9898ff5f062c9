"""The checks of `askalike check`, one function each, and the statistics of `askalike info`."""
