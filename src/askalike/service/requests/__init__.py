"""What the routes, the pages and the drop-ins share: who asks, in what shape, what is done, and what goes wrong."""
