"""askalike inside other products: assistants (MCP) and PyTerrier pipelines."""
