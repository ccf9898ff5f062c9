"""What networks read: texts as whole numbers, one file a kind. A network names the kind it reads."""
