"""Training for askalike: networks and their losses, recipes, encoders of papers, and answers that a network writes."""

from askalike.plugin import Command, Kind, add_kind

COMMAND = Command(
    "Improve",
    "Train a network on the archive's own labels.",
    "askalike_learning.commands:train_command",
)

add_kind("loss", Kind("askalike_learning.losses", "askalike.losses", "Loss", ("__call__",)))
add_kind("network", Kind("askalike_learning.networks", "askalike.networks", "Network", ("forward",)))
add_kind("recipes", Kind("", "askalike.recipes", "", ("__path__",), False))
