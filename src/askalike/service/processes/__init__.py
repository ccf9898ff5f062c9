"""The processes of the service: one watches, one indexes, and as many as are wanted answer."""
