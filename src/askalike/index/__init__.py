"""Search structures over terms: no text, no models."""
