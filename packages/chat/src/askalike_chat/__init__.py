"""A bot for chats: one file a product, one bot for all of them. It asks a running askalike service over HTTP."""
