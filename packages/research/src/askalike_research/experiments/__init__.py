"""One TOML file in, one folder out: runs, measures, comparisons, a report."""
