"""askalike inside other products: assistants (MCP), PyTerrier pipelines and mteb."""
