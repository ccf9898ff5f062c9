"""Shapes that other software already speaks: it is pointed here by its own settings, without a change to it."""
