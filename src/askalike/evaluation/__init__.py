"""Measuring runs: files (`trec`), rules (`rules`), measures (`measures`), differences (`significance`)."""
