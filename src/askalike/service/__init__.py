"""The HTTP service: similar questions as they are typed, for people and for other sites. Needs the extra `service`."""
