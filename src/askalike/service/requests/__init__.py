"""Code shared by the routes, the pages and the drop-ins: callers, schemas, actions and errors."""
