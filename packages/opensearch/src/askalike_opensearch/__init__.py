"""An engine that keeps the indexes of archives in an OpenSearch cluster, where several processes share them."""

from askalike.plugin import Command

COMMAND = Command(
    "Serve",
    "Set up and inspect an OpenSearch cluster that holds indexes.",
    "askalike_opensearch.commands:opensearch_command",
)
