"""Middleware before all routes: an id and a log line, host and origin, the limits of a body."""
