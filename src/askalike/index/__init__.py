"""Search structures over terms and vectors; they know neither texts nor models."""
