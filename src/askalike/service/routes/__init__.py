"""The routes of the HTTP API, one file a group, with the shapes they take and give."""
