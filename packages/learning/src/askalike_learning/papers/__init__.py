"""Encoders, networks and recipes of papers, registered by entry points, as those of another package."""
