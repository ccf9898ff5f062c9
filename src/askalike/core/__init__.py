"""Errors, settings, the registry, types, files and time: what all rooms share."""
