"""Middleware of all routes: request id and log line, host and origin checks, limits on bodies."""
