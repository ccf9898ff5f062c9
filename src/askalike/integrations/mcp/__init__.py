"""An archive's tools for assistants, over the Model Context Protocol. Needs the extra `mcp`."""
