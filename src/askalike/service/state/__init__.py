"""What one process of the service holds: the archives that it serves, their engines, and the callers' rates."""
