"""Measuring rankers on archives."""
